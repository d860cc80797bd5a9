"""What is at work is ended with the server, each until it takes that back."""

from solverscope.app.serving.shutdown import on_shutdown, shut_down


def test_what_is_at_work_is_ended_and_what_is_over_is_not():
    ended = []
    forget = [on_shutdown(lambda k=k: ended.append(k)) for k in range(3)]
    forget[1]()
    shut_down()
    assert ended == [0, 2]
    forget[0]()
    forget[2]()
    shut_down()
    assert ended == [0, 2]
