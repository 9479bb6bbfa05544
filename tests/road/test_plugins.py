"""The template of a plugin, installed into a folder: every stage finds it, and the law serves where it says no more."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import ROOT, deployment, fails_in_one_line, python, stdout

DEPLOYMENT = deployment('kind = "hesitant:answer"\np = "3/4"', 'id = "one"\nepsilon = "log(3)"', "plugin")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(ROOT / "examples/plugin", folder / "source")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*command, "--target", str(folder / "site"), str(folder / "source")], check=True, capture_output=True)
    return folder / "site"


@pytest.fixture
def bare(installed: Path, tmp_path: Path) -> Path:
    """The plugin with its classes alone."""
    site = tmp_path / "site"
    shutil.copytree(installed, site, ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("accountant", "attack", "proof"):
        (site / "hesitant/answer" / f"{part}.py").unlink()
    return site


def run(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "ldpaudit", *arguments, cwd=site, PYTHONPATH=f"{ROOT}{os.pathsep}{site}")


def test_a_plugin_is_listed_with_its_package_and_a_name_that_none_has_answered_with_the_nearest_one(installed: Path) -> None:
    listed = run(installed, "mechanisms").stdout
    assert "hesitant:answer  an answer, or silence  (from hesitant 0.1.0)\n    HesitantAnswer: p" in listed
    assert "(from" not in listed.split("hesitant:answer")[0]
    fails_in_one_line(run(installed, "account", "hesitant:anwser", "p=3/4"), "got 'hesitant'; did you mean 'hesitant:answer'?")


@pytest.mark.slow
def test_a_plugin_s_own_accountant_attack_and_proof_are_asked(installed: Path) -> None:
    assert "by a hesitant answer: log(p/(1-p))" in run(installed, "account", "hesitant:answer", "p=3/4").stdout
    assert "hesitant:answer: a hesitant answer is private" in run(installed, "prove", "hesitant:answer").stdout
    asked = "from hesitant.answer import HesitantAnswer as A; from ldpaudit.attacks.games.stems import attack_on; "
    asked += "from fractions import Fraction; print(attack_on(A(Fraction(3, 4))).event)"
    assert stdout(python("-c", asked, cwd=installed, PYTHONPATH=f"{ROOT}{os.pathsep}{installed}")) == "{y = x}\n"
    (installed / "plugin.toml").write_text(DEPLOYMENT)
    shown = stdout(run(installed, "certify", "plugin.toml", "--trials", "5000", "--output", str(installed / "out")))
    words = " ".join(shown.split())
    assert "PROVED" in words
    assert "theorem: a hesitant answer is private with epsilon = log(p/(1 - p)), and no less" in words


@pytest.mark.slow
def test_a_plugin_s_law_serves_where_it_says_no_more_and_one_that_cannot_be_imported_is_named(bare: Path) -> None:
    (bare / "plugin.toml").write_text(DEPLOYMENT)
    done = run(bare, "certify", "plugin.toml", "--trials", "5000", "--output", str(bare / "out"))
    words = " ".join(done.stdout.split())
    assert "by its own law, enumerated" in words, done.stdout + done.stderr
    assert "theorem: the law that HesitantAnswer states is private with epsilon = log(3), and no less" in words
    (bare / "hesitant/answer/__init__.py").write_text("import nothing_of_this_name\n")
    done = run(bare, "account", "hesitant:answer", "p=3/4")
    fails_in_one_line(done, "the plugin hesitant:answer needs a module hesitant.answer: ModuleNotFoundError")
