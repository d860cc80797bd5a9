"""Progress: where it goes in a terminal and elsewhere."""

from __future__ import annotations

import pytest

from solverscope.app.command.progress_bar import ProgressBar


def test_only_finished_steps_are_told_where_there_is_no_terminal(capsys):
    progress = ProgressBar()
    with progress.working("loading") as show:
        show("half way", 0.5)
    progress.say("ready [1]")
    assert capsys.readouterr() == ("", "ready [1]\n")


@pytest.mark.parametrize("moving", [True, False])
def test_moving_line_never_takes_standard_output_along(capsys, monkeypatch, moving):
    monkeypatch.setenv("FORCE_COLOR", "1")  # for Rich, this is a terminal
    monkeypatch.setenv("TERM", "xterm")
    with ProgressBar(moving=moving).working("loading [data]") as show:
        show("loading", 0.5)
        print("record")
    out, err = capsys.readouterr()
    assert out == "record\n"
    assert ("loading" in err) is moving
