"""Sets of handwritten letters and digits."""

from ..entry import DataSetInfo, Lam
from ..options import Option
from ..store import DataFile
from .papers import BLONDEL, YU, ZHONG

SETS = (
    DataSetInfo(
        id="digits",
        name="Digits",
        summary="1,797 handwritten digits of 8 x 8 pixels",
        kind="multiclass",
        loader="loaders.embedded:digits",
        size="1,797 x 64, 10 classes",
        description="Pictures of handwritten digits from 43 people, each pixel the ink in a square of 4 "
        "x 4 (0 to 16, here divided by 16). Small enough to see every weight as a pixel.",
        source="UCI, Optical Recognition of Handwritten Digits (test part), as in scikit-learn",
        terms="CC BY 4.0 (UCI)",
        splits=("random", "none"),
        scale=16.0,
        lams=(Lam(5e-4, 187, 640, 0.975),),
    ),
    DataSetInfo(
        id="digit-strings",
        name="Digit strings",
        summary="strings of real digit pictures whose digits follow a Markov chain",
        kind="sequences",
        loader="loaders.digit_strings:digit_strings",
        paper=ZHONG,
        size="900 strings, about 6,700 pictures, 2,081 features (degree 2), 10 labels",
        description="Each string walks through the digits by a Markov chain (one more, or twice as much "
        "modulo 10) and shows a real picture from scikit-learn's digits for each, binarized. Products "
        "of two pixels are features as in the paper's OCR experiment, whose embedded twin this is. "
        "Pictures for training and for testing are disjoint.",
        source="made from UCI, Optical Recognition of Handwritten Digits (test part), as in scikit-learn",
        terms="CC BY 4.0 (UCI)",
        own=(
            Option(
                "n_samples",
                900,
                "training strings; a quarter of that for testing",
                1,
                1_000_000,
                title="training samples n",
            ),
            Option("min_length", 3, "digits in the shortest string", 1, 1000, title="digits, at least"),
            Option("max_length", 12, "digits in the longest string", 1, 1000, title="digits, at most"),
        ),
        degree=2,
        bias=1,
        lams=(Lam(2.0, 480, 20_910, 0.979),),
    ),
    DataSetInfo(
        id="ocr",
        name="OCR words",
        summary="6,877 handwritten words, letter by letter",
        kind="sequences",
        loader="loaders.ocr:ocr",
        paper=ZHONG,
        size="6,877 words, 52,152 letters, 8,257 features (degree 2), 26 labels",
        description="Handwritten words, each letter a picture of 16 x 8 black and white pixels; the "
        "first letter of every word was dropped because it was a capital. With the products of every "
        "two pixels and a constant a letter has 8,257 binary features: 215,358 weights with the 676 "
        "transitions.",
        source="R. Kassel (MIT), cleaned by B. Taskar: https://ai.stanford.edu/~btaskar/ocr/",
        terms="none stated; published for research",
        own=(
            Option(
                "split",
                "random",
                "a random split of words by seed, or one of ten folds",
                choices=("random", "fold"),
                title="test split",
            ),
            Option("fold", 0, "test fold where split=fold", 0, 9, title="test fold"),
        ),
        files=(
            DataFile(
                "ocr_letters/letter.data.gz",
                "https://ai.stanford.edu/~btaskar/ocr/letter.data.gz",
                "4ef9522ffeaa68cad889ad8d02ad3fca411fe6a656546c236a183866157b3b34",
            ),
        ),
        degree=2,
        bias=1,
        lams=(Lam(100.0, 1495, 215_358, 0.747, paper=True),),
    ),
    DataSetInfo(
        id="mnist",
        name="MNIST",
        summary="handwritten digits of 28 x 28 pixels",
        kind="multiclass",
        loader="loaders.tables:mnist",
        paper=f"{YU}; {BLONDEL}",
        size="10,000 x 784, 10 classes; images=all: 60,000 + 10,000",
        description="Pictures of handwritten digits, pixels divided by 255. By default the 10,000 "
        "pictures of the test part alone, split by seed; with images=all the 60,000 training pictures "
        "too. positive=odd and positive=even make it binary.",
        source="http://yann.lecun.com/exdb/mnist/",
        terms="CC BY-SA 3.0 (Y. LeCun and C. Cortes)",
        own=(
            Option(
                "images", "t10k", "the test pictures alone, or all", choices=("t10k", "all"), title="pictures"
            ),
        ),
        splits=("auto", "given", "random", "none"),
        scale=255.0,
        files=(
            DataFile("mnist_t10k/t10k-images-idx3-ubyte.gz"),
            DataFile("mnist_t10k/t10k-labels-idx1-ubyte.gz"),
            DataFile("mnist/train-images-idx3-ubyte.gz", when="images=all"),
            DataFile("mnist/train-labels-idx1-ubyte.gz", when="images=all"),
        ),
        lams=(Lam(5e-4, 958, 7840, 0.905),),
    ),
    DataSetInfo(
        id="usps",
        name="USPS",
        summary="handwritten digits from envelopes, 16 x 16 pixels",
        kind="multiclass",
        loader="loaders.libsvm:usps",
        paper=YU,
        size="7,291 + 2,007 x 256, 10 classes",
        description="Digits of zip codes on envelopes, pixels from -1 to 1.",
        source="https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass.html#usps",
        splits=("given", "random"),
        files=(DataFile("usps/usps.bz2"), DataFile("usps/usps.t.bz2")),
    ),
)
