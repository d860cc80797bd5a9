"""What is at work is ended with the server, each until it takes that back."""

from solverscope.app.serving.endings import before_the_end, end_all


def test_what_is_at_work_is_ended_and_what_is_over_is_not():
    ended = []
    forget = [before_the_end(lambda k=k: ended.append(k)) for k in range(3)]
    forget[1]()
    end_all()
    assert ended == [0, 2]
    forget[0]()
    forget[2]()
    end_all()
    assert ended == [0, 2]
