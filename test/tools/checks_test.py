"""The source checks must find what they are for: each rule is broken once in a tree made for it."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_includes  # noqa: E402
import check_settings  # noqa: E402
import check_spills  # noqa: E402

DEFINITIONS = 'SETTING(algo, "ALGO", "auto|flat", "auto", "", "Algorithm.")\n'


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("src/base/status.h", "")

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def check(self, module):
        with contextlib.redirect_stdout(io.StringIO()):
            return module.check(self.root)


class IncludesTest(Tree):
    def test_along_the_arrows(self):
        self.write("src/comm/a.cc", '#include "comm/a.h"\n#include "kernels/b.h"\n#include <vector>\n')
        self.assertTrue(self.check(check_includes))

    def test_against_the_arrows(self):
        for folder, included in [("base", "device/a.h"), ("kernels", "comm/a.h"), ("topology", "tune/a.h"),
                                 ("call", "abi/a.h"), ("comm", "tool/a.h"), ("loopback", "device/stream.h")]:
            with self.subTest(folder=folder):
                self.write(f"src/{folder}/bad.h", f'#include "{included}"\n')
                self.assertFalse(self.check(check_includes))
                (self.root / f"src/{folder}/bad.h").unlink()

    def test_unknown_folder(self):
        self.write("src/misc/a.h", "")
        self.assertFalse(self.check(check_includes))

    def test_public_headers_stand_alone(self):
        self.write("include/nccl_slab/a.h", '#include "base/status.h"\n')
        self.assertFalse(self.check(check_includes))


class SpillsTest(unittest.TestCase):
    KERNEL = ("ptxas info    : Compiling entry function '_Z{0}' for 'sm_90'\n"
              "ptxas info    : Function properties for _Z{0}\n"
              "    8 bytes stack frame, {1} bytes spill stores, {2} bytes spill loads\n")

    def check(self, log):
        with contextlib.redirect_stdout(io.StringIO()) as told:
            return check_spills.check(log), told.getvalue()

    def test_a_stack_frame_is_no_spill(self):
        self.assertEqual(self.check(self.KERNEL.format("small", 0, 0)), (True, ""))

    def test_spills_are_named(self):
        good, told = self.check(self.KERNEL.format("small", 0, 0) + self.KERNEL.format("tree", 4, 8))
        self.assertFalse(good)
        self.assertEqual(told, "spills: sm_90: 12 bytes in _Ztree\n")

    def test_a_log_without_kernels_proves_nothing(self):
        self.assertFalse(self.check("ninja: no work to do.\n")[0])


class SettingsTest(Tree):
    def setUp(self):
        super().setUp()
        self.write("src/base/settings.def", DEFINITIONS)

    def test_table_in_step(self):
        self.write("README.md", f"<!-- settings -->\n{check_settings.table(DEFINITIONS)}<!-- /settings -->\n")
        self.assertTrue(self.check(check_settings))

    def test_another_default(self):
        other = check_settings.table(DEFINITIONS.replace('"auto", ""', '"flat", ""'))
        self.write("README.md", f"<!-- settings -->\n{other}<!-- /settings -->\n")
        self.assertFalse(self.check(check_settings))

    def test_no_table(self):
        self.write("README.md", "nothing\n")
        self.assertFalse(self.check(check_settings))


if __name__ == "__main__":
    unittest.main()
