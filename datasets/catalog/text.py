"""Sets of texts: documents in classes, tagged sentences."""

from ..entry import DataSetInfo, Lam
from ..options import Option
from ..store import DataFile
from .papers import BLONDEL, MATHUR

FEATURES = Option(
    "features",
    "rich",
    "rich: words, affixes, shapes and neighbours; mathur: word, previous word, part of speech",
    choices=("rich", "mathur"),
    title="kind of features",
)
MIN_COUNT = Option(
    "min_count",
    1,
    "features rarer than this in training are left out",
    1,
    1_000_000,
    title="least count of a feature",
)
RESEARCH = "research use with acknowledgement; copyright Reuters Ltd."

SETS = (
    DataSetInfo(
        id="reuters",
        name="Reuters-21578",
        summary="Reuters news of 1987 with their topics, ModApte split",
        kind="multilabel",
        loader="loaders.reuters:reuters",
        paper=MATHUR,
        size="7,775 + 3,019 documents, 26,385 words, 115 topics",
        description="Newswire of 1987. The documents of the ModApte split that have a topic; features "
        "say which lower-cased words of two letters or more occur in title and body. One topic against "
        "the rest, positive=grain, is the papers' text classification task.",
        source="D. D. Lewis: http://www.daviddlewis.com/resources/testcollections/reuters21578/",
        terms=RESEARCH,
        own=(
            Option(
                "top_words",
                0,
                "keep the words that say most about the nine most frequent topics; 0 keeps all",
                0,
                1_000_000,
                title="top words kept",
            ),
        ),
        weighting="binary",
        files=(DataFile("reuters21578/modapte.tsv.gz"),),
        lams=(Lam(0.02, 1560, 3_034_275, 0.995),),
    ),
    DataSetInfo(
        id="reuters-r8",
        name="Reuters R8",
        summary="Reuters news with exactly one of eight topics",
        kind="multiclass",
        loader="loaders.reuters:reuters_r8",
        size="5,485 + 2,189 documents, about 20,000 words, 8 classes",
        description="Documents of Reuters-21578 that have a single topic, one of the eight most "
        "frequent ones, as words.",
        source="A. Cardoso-Cachopo: http://ana.cachopo.org/datasets-for-single-label-text-categorization",
        terms=RESEARCH,
        weighting="tf-idf",
        scale="unit",
        files=(
            DataFile("reuters_r8/r8-train-all-terms.txt.gz"),
            DataFile("reuters_r8/r8-test-all-terms.txt.gz"),
        ),
        lams=(Lam(5e-5, 456, 159_856, 0.969),),
    ),
    DataSetInfo(
        id="news20",
        name="20 Newsgroups",
        summary="messages to twenty newsgroups, which form a tree",
        kind="multiclass",
        loader="loaders.news20:news20",
        paper=BLONDEL,
        size="w1000: 11,256 + 7,489 x 1,000; tree: 18,221 x 36,568; sklearn: 11,314 + 7,532 x about "
        "130,000; 20 classes",
        description="Messages to twenty newsgroups. form=w1000 has the 1,000 word groups that say most, "
        "split by date; form=tree has many words and three levels of groups (all messages are split by "
        "seed); form=sklearn has every word of the raw messages, split by date. labels=tree makes the "
        "groups leaves of a tree, labels=flat does not.",
        source="http://qwone.com/~jason/20Newsgroups/",
        own=(
            Option("form", "w1000", "which version", choices=("w1000", "tree", "sklearn"), title="version"),
            Option(
                "labels",
                "auto",
                "flat classes or leaves of a tree; auto is the tree for form=tree only",
                choices=("auto", "flat", "tree"),
                title="kind of labels",
            ),
        ),
        kinds=(("labels=tree", "tree"), ("labels=auto,form=tree", "tree")),
        splits=("auto", "given", "random", "none"),
        weighting="tf-idf",
        scale="unit",
        files=(
            DataFile("news20_w1000/news20_w1000.npz", when="form=w1000"),
            DataFile("news20_w1000/tree.tsv", when="form=w1000"),
            DataFile("news20_tree/news20_tree.npz", when="form=tree"),
            DataFile("news20_tree/tree.tsv", when="form=tree"),
            DataFile("news20_tree/vocab.txt.gz", when="form=tree"),
            # address and digest as in scikit-learn's fetcher
            DataFile(
                "news20_raw/20news-bydate.tar.gz",
                "https://ndownloader.figshare.com/files/5975967",
                "8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
                when="form=sklearn",
            ),
        ),
        lams=(Lam(5e-5, 3111, 20_000, 0.721),),
    ),
    DataSetInfo(
        id="conll2002",
        name="CoNLL-2002",
        summary="Spanish and Dutch sentences with named entities",
        kind="sequences",
        loader="loaders.conll:conll2002",
        paper=MATHUR,
        size="esp: 8,323 + 1,517 sentences, 264,715 tokens; ned: 15,806 + 5,195 sentences, 202,931 "
        "tokens; 9 tags",
        description="News sentences whose tokens are tagged as person, place, organization, other name "
        "or none. Features are binary: the word, its affixes and shape, part of speech, and its "
        "neighbours; or those of the paper.",
        source="https://www.clips.uantwerpen.be/conll2002/ner/",
        terms="research use in the context of the shared task only",
        own=(
            Option("language", "esp", "Spanish or Dutch", choices=("esp", "ned"), title="language"),
            Option(
                "test", "testb", "which part is the test part", choices=("testa", "testb"), title="test part"
            ),
            FEATURES,
            MIN_COUNT,
        ),
        files=(DataFile("conll2002/conll2002.zip"),),
        metric="entity-f1",
        lams=(Lam(1.0, 6739, 1_062_009, 0.971),),
    ),
    DataSetInfo(
        id="conll2000",
        name="CoNLL-2000",
        summary="sentences of the Wall Street Journal cut into chunks",
        kind="sequences",
        loader="loaders.conll:conll2000",
        size="8,936 + 2,012 sentences, 211,727 + 47,377 tokens, 22 tags",
        description="Each token begins, continues or is outside a chunk such as a noun phrase. Features "
        "as in CoNLL-2002.",
        source="https://www.clips.uantwerpen.be/conll2000/chunking/",
        own=(FEATURES, MIN_COUNT),
        files=(DataFile("conll2000/conll2000.zip"),),
        metric="entity-f1",
        lams=(Lam(1.0, 8161, 1_917_168, 0.955),),
    ),
)
