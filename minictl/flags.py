"""Flags that several commands share, with kubectl's names and one wording."""

from __future__ import annotations

import argparse

from minictl import output

DRY_RUNS = ("none", "client", "server")


def add_output(parser: argparse.ArgumentParser, forms: str = output.FORMATS) -> None:
    parser.add_argument("-o", "--output", metavar="FORMAT", help=f"output format, one of: {forms}")


def add_selector(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-l", "--selector", metavar="SELECTOR", help="label query: a=b, a!=b, 'a in (b,c)', a, !a")


def add_field_selector(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--field-selector", metavar="SELECTOR", help="field query, as metadata.name=a")


def add_all_namespaces(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="in every namespace")


def add_filename(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    parser.add_argument(
        "-f",
        "--filename",
        metavar="FILE",
        action="append",
        required=required,
        help="file or folder of manifests, or - for stdin; may be repeated",
    )
    parser.add_argument("-R", "--recursive", action="store_true", help="look into sub-folders too")


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dry-run",
        choices=DRY_RUNS,
        nargs="?",
        const="client",
        default="none",
        help="client: only print; server: let the server check, but keep nothing",
    )


def add_validate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--validate",
        choices=("strict", "warn", "ignore", "true", "false"),
        nargs="?",
        const="strict",
        default="strict",
        help="what the server does about unknown and duplicate fields",
    )


def field_validation(args: argparse.Namespace) -> str:
    """The API's word for `--validate`."""
    return {"true": "Strict", "false": "Ignore"}.get(args.validate, str(args.validate).title())


def dry_run_suffix(args: argparse.Namespace) -> str:
    """What follows a message: nothing really happened."""
    return {"client": " (dry run)", "server": " (server dry run)"}.get(args.dry_run, "")
