"""Clean masks that follow a brush, from Python: the labels of a fresh segment after every change."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import SimpleITK as sitk
from test_python import lobule

SCAN, TRUTH, ALL = lobule.phantom("abdomen", shape=(24, 44, 52), spacing=(5, 5, 5))
STROKES = np.where(ALL <= 3, ALL, 0)
ABOUT = {"spacing": 5, "device": "cpu", "threads": 1}


def wait_for(segmenter, *states):
    """The first answer that is one of these."""
    for _ in range(20000):
        labels, state = segmenter.latest()
        if state in states:
            return labels, state
        threading.Event().wait(0.002)
    raise AssertionError(segmenter.latest()[1])


@pytest.mark.parametrize("options", [{}, {"coarse": 4000}, {"passes": 1, "margin": "3vox"}])
def test_every_change_gives_the_labels_of_a_fresh_run(options):
    rng = np.random.default_rng(5)
    drawn = STROKES.copy()
    with lobule.Segmenter(SCAN, 3, **options, **ABOUT) as segmenter:
        segmenter.draw(slice(None), STROKES)
        for _ in range(8):
            report = {}
            fresh = lobule.segment(SCAN, drawn, report=report, **options, **ABOUT)
            labels = segmenter.labels
            assert labels.dtype == fresh.dtype
            assert np.array_equal(labels, fresh)
            assert segmenter.report["chosen"] == report["chosen"]
            assert segmenter.latest()[1] == "final"
            assert np.array_equal(segmenter.strokes, drawn)
            where = tuple(slice(at, at + 8) for at in (rng.integers(side - 8) for side in SCAN.shape))
            piece = rng.choice([0, 0, 2])
            drawn[where] = np.where(STROKES[where] > 0, piece, drawn[where])
            segmenter.erase(where) if rng.random() < 0.3 else None
            segmenter.draw(where, drawn[where])


def test_a_mask_may_change_after_it_was_drawn_at():
    where = STROKES > 0
    with lobule.Segmenter(SCAN, 3, **ABOUT) as segmenter:
        with segmenter._state:  # before its thread can have begun
            segmenter.draw(where, STROKES[where])
            where[...] = False
        assert np.array_equal(segmenter.labels, lobule.segment(SCAN, STROKES, **ABOUT))


@pytest.mark.parametrize("coarse", [4000, 1000])  # the second leaves voxels out of the preview
def test_a_preview_comes_first_and_the_next_stroke_cancels(coarse):
    with lobule.Segmenter(SCAN, 3, coarse=coarse, **ABOUT) as segmenter:
        assert segmenter.latest() == (None, "none")
        for _ in range(5):  # each cancels the one before
            segmenter.draw(STROKES > 0, STROKES[STROKES > 0])
        labels, state = wait_for(segmenter, "preview", "final")
        assert labels.shape == SCAN.shape
        assert set(np.unique(labels)) <= {0, 1, 2, 3}
        final = segmenter.labels
        if state == "preview":  # near to the final answer, on voxels twice as wide or more
            both = 2 * np.sum((labels > 0) & (labels == final))
            assert both > 0.8 * (np.sum(labels > 0) + np.sum(final > 0))
        assert np.array_equal(final, lobule.segment(SCAN, STROKES, coarse=coarse, **ABOUT))
        with segmenter._state:  # at once, before its thread can have begun
            segmenter.erase((0, 0, 0))
            assert segmenter.latest()[1] == "old"


def test_doubt_is_that_of_a_fresh_run_and_comes_after_the_labels():
    report = {}
    fresh = lobule.segment(SCAN, STROKES, suggest=3, full=True, report=report, **ABOUT)
    with lobule.Segmenter(SCAN, 3, suggest=3, **ABOUT) as segmenter:
        segmenter.draw(slice(None), STROKES)
        assert np.array_equal(segmenter.labels, fresh.labels)
        doubt = segmenter.doubt()
        assert np.array_equal(doubt.uncertain, fresh.uncertain)
        assert doubt.suggested == report["suggested"]
        assert len(doubt.suggested) == 3
        assert np.array_equal(segmenter.labels, fresh.labels)
        where = (slice(10, 12), slice(0, 9), slice(0, 9))
        segmenter.draw(where, 1)
        assert segmenter.doubt(0) is None, "of other strokes"
        drawn = STROKES.copy()
        drawn[where] = 1
        fresh = lobule.segment(SCAN, drawn, suggest=3, full=True, **ABOUT)
        assert np.array_equal(segmenter.doubt().uncertain, fresh.uncertain)
        segmenter.erase(slice(None))
        segmenter.draw((3, 3, 3), 1)
        with pytest.raises(lobule.InputError, match="all strokes are of label 1"):
            segmenter.doubt()


def test_another_thread_draws_and_reads():
    found = []
    with lobule.Segmenter(SCAN, 3, **ABOUT) as segmenter:

        def use():
            segmenter.draw(slice(None), STROKES)
            found.append(segmenter.labels)

        user = threading.Thread(target=use)
        user.start()
        user.join()
    assert np.array_equal(found[0], lobule.segment(SCAN, STROKES, **ABOUT))


def test_an_open_one_is_closed_when_python_ends():
    """A thread that computes while Python goes away may bring the process down."""
    lines = [
        "import atexit, lobule, numpy, os, sys",
        "atexit.register(lambda: print(open_one._worker))",  # the first one registered comes last
        "open_one = lobule.Segmenter(numpy.zeros((9, 9, 9), numpy.uint8), 3)",
        "open_one.draw(4, 1)",
        "open_one._state.acquire()",
        "if not os.fork(): sys.exit()  # a child, in which no thread gives the lock back",
        "os.wait(), open_one._state.release()",
    ]
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, env=where, check=True, timeout=60)
    assert done.stdout.splitlines()[1:] == ["None"]  # the child closes nothing


def test_waiting_ends_when_it_is_closed():
    said = []
    segmenter = lobule.Segmenter(SCAN, 3, **ABOUT)
    segmenter._answer_to = lambda *_: time.sleep(0.01)  # a thread that never comes to an answer
    segmenter.draw(slice(None), STROKES)

    def wait():
        with pytest.raises(lobule.InputError, match="closed"):
            segmenter.wait()
        said.append("closed")

    waiting = threading.Thread(target=wait)
    waiting.start()
    segmenter.close()
    waiting.join()
    assert said == ["closed"]


def test_what_comes_in_comes_out():
    image = sitk.GetImageFromArray(SCAN)
    image.SetSpacing((5, 5, 5))
    with lobule.Segmenter(image, 3, device="cpu") as one:
        one.draw(slice(None), STROKES)
        assert one.labels.GetSpacing() == (5, 5, 5)
        fresh = lobule.segment(image, STROKES, device="cpu")
        assert np.array_equal(sitk.GetArrayFromImage(one.labels), sitk.GetArrayFromImage(fresh))
    with lobule.Segmenter(SCAN.transpose(2, 1, 0), 3, axes="xyz", **ABOUT) as turned:
        turned.draw(slice(None), STROKES.transpose(2, 1, 0))
        assert np.array_equal(turned.labels.transpose(2, 1, 0), sitk.GetArrayFromImage(fresh))


def test_what_is_wrong_is_said():
    for labels in (0, 2**31):
        with pytest.raises(lobule.InputError, match=f"labels is {labels}; it is"):
            lobule.Segmenter(SCAN, labels)
    with pytest.raises(TypeError, match="did you mean 'median'"):
        lobule.Segmenter(SCAN, medain=False)
    with pytest.raises(TypeError, match="passes is 1.5; it is a whole number"):
        lobule.Segmenter(SCAN, passes=1.5)
    with lobule.Segmenter(SCAN, 3, **ABOUT) as segmenter:
        with pytest.raises(lobule.InputError, match="nothing has been drawn"):
            segmenter.labels  # noqa: B018
        with pytest.raises(lobule.InputError, match="where suggest is given"):
            segmenter.doubt()
        with pytest.raises(lobule.InputError, match=r"label 4: labels are 0\.\.3"):
            segmenter.draw((3, 3, 3), 4)
        for label in (1.5, np.nan, "liver", None, [1, 2.5], 2**70):
            with pytest.raises(lobule.InputError, match="it is a whole number"):
                segmenter.draw((3, 3, slice(2)), label)
        for where in ((99, 0, 0), (1, 1, 1, 1), "x", np.ones((2, 2, 2), bool)):
            with pytest.raises(lobule.InputError, match="where is"):
                segmenter.draw(where, 1)
        with pytest.raises(lobule.InputError, match=r"where is .*could not broadcast"):
            segmenter.draw((1, slice(3), 1), [1, 2])
        with pytest.raises(lobule.InputError, match="label is .* whole number"):
            segmenter.draw((1, slice(3), 1), [[1], [1, 2]])
        assert not segmenter.strokes.any()
        with pytest.raises(ValueError, match="read-only"):
            segmenter.strokes[0] = 1
        segmenter.draw((3, 3, 3), 1)
        with pytest.raises(lobule.InputError, match="all strokes are of label 1"):
            segmenter.labels  # noqa: B018
        segmenter.draw(slice(None), STROKES)
        assert np.array_equal(segmenter.labels, lobule.segment(SCAN, STROKES, **ABOUT))
    with pytest.raises(lobule.InputError, match="closed"):
        segmenter.labels  # noqa: B018
    with pytest.raises(lobule.InputError, match="closed"):
        segmenter.erase(slice(None))


def test_it_may_be_closed_by_its_own_progress_and_by_several_threads():
    told = []
    segmenter = lobule.Segmenter(SCAN, 3, progress=lambda done: (told.append(done), segmenter.close()), **ABOUT)
    segmenter.draw(slice(None), STROKES)
    with pytest.raises(lobule.InputError, match="closed"):
        segmenter.labels  # noqa: B018
    assert len(told) <= 1
    segmenter.close()
    for _ in range(20):
        segmenter = lobule.Segmenter(SCAN, 3, **ABOUT)
        failed, closing = [], []
        for _ in range(4):
            closing.append(threading.Thread(target=lambda: failed.extend(failure(segmenter.close))))
            closing[-1].start()
        for thread in closing:
            thread.join()
        assert failed == []


def failure(function):
    try:
        function()
    except Exception as problem:  # noqa: BLE001
        return [problem]
    return []


FORKED = """
import os, signal, sys, numpy, lobule
scan, _, seeds = lobule.phantom("abdomen", shape=(24, 44, 52), spacing=(5, 5, 5))
segmenter, grower = lobule.Segmenter(scan, 8), lobule.Grower(scan, 8)
segmenter.draw(..., seeds)
grower.seeds[...] = seeds
labels, grown = segmenter.labels, grower.grow().copy()
child = os.fork()
if child == 0:
    signal.alarm(20)  # what waits for a thread that is not there would never end
    refused = 0
    for call in (lambda: segmenter.draw((0, 0, 0), 1), lambda: segmenter.labels, segmenter.latest, segmenter.wait, grower.grow):
        try:
            call()
        except ValueError as problem:
            refused += "of the process that was forked" in str(problem)
    segmenter.close()
    grower.close()
    os._exit(0 if refused == 5 else 1)
assert os.waitpid(child, 0)[1] == 0
assert numpy.array_equal(segmenter.labels, labels) and numpy.array_equal(grower.grow(), grown)
segmenter.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
def test_a_forked_child_is_refused_what_its_parent_has(tmp_path):
    (tmp_path / "forked.py").write_text(FORKED)
    places = {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "forked.py"], cwd=tmp_path, env={**os.environ, **places}, timeout=60, check=True)
