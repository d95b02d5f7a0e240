"""Do hostile files cause invalid memory accesses or undefined behaviour in the core?

`python hostile_checked.py LIBRARY` plays the scenes of all hostile files of test_hostile_files.py with that build of
the core, whose sanitizer aborts on a fault. It prints the numbers of files.
"""

import sys
from itertools import chain
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2] / "helpers"), str(Path(__file__).parent)]

import golden

golden.use_core(sys.argv[1])

import json_damage
from hostile import FileCheck, bit_flips, hostile_token, hostile_word, mutations, replaced_words
from json_writer import old_document, small_document
from samples import FOLDER
from test_hostile_files import MUTATIONS, REAL_FILES, SMALL_FILES


def every_file():
    yield from bit_flips(SMALL_FILES["bin"])
    yield from bit_flips(SMALL_FILES["json"])
    yield from replaced_words(SMALL_FILES["bin"])
    yield from mutations(SMALL_FILES["bin"], 2000, 3, hostile_word)
    yield from mutations(SMALL_FILES["json"], 2000, 3, hostile_token)
    yield from json_damage.replaced_values(small_document())
    yield from chain.from_iterable(damage(document) for damage in json_damage.EVERY_DAMAGE
                                   for document in (small_document(), old_document()))
    for path, hostile_part in REAL_FILES.values():
        if (FOLDER / path).is_file():
            yield from mutations((FOLDER / path).read_bytes(), MUTATIONS, 942, hostile_part)


if __name__ == "__main__":
    check = FileCheck().run(every_file())
    print(f"refused {check.refused}, read {check.read}, played {check.played}, without agents {check.idle}")
