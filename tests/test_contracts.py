"""The contracts of imports hold, and each breaks when a test plants an import that it forbids."""

from __future__ import annotations

import copy
import tomllib
from functools import cache
from pathlib import Path

import grimp
import pytest
from importlinter import configuration
from importlinter.contracts.acyclic_siblings import AcyclicSiblingsContract
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.independence import IndependenceContract
from importlinter.contracts.layers import LayersContract
from importlinter.contracts.protected import ProtectedContract

ROOT = Path(__file__).parents[1]
TOLD = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
CONTRACTS = {contract["name"]: contract for contract in TOLD["contracts"]}
ROOTS = TOLD["root_packages"]
PREFIX = "xingqiao."
KINDS = {
    "acyclic_siblings": AcyclicSiblingsContract,
    "forbidden": ForbiddenContract,
    "independence": IndependenceContract,
    "layers": LayersContract,
    "protected": ProtectedContract,
}
# The name of a contract, a module, and an import that the contract forbids to the module.
PLANTED = [
    ("1. layers", "composer.values", "actions.outcome"),
    ("1. layers", "adapters.channel", "transactions.locks"),
    ("1. layers", "transactions.locks", "infra.clock"),
    ("2a. composer does no I/O", "composer.machine.conductor", "time"),
    ("2a. composer does no I/O", "composer.languages.jsonata.texts", "random"),
    ("2b. the rules of actions do no I/O", "actions.admission", "sqlite3"),
    ("2b. the rules of actions do no I/O", "actions.catalog", "actions.runtimes"),
    ("3. the worker and what starts it stand alone", "actions.runtimes.worker", "composer"),
    ("3. the worker and what starts it stand alone", "actions.runtimes.launcher.start", "orjson"),
    ("4. no circles", "composer.values", "composer.testing"),
    ("4. no circles", "composer.machine.fiber", "composer.machine.cursor"),
    ("4. no circles", "composer.machine.dialect", "composer.machine.plain"),
    ("4. no circles", "composer.machine.sagas.compensations", "composer.machine.execution"),
    ("4. no circles", "composer.languages.asl.running.branches",
     "composer.languages.asl.running.dialect"),
    ("4. no circles", "infra.engine.tick", "infra.engine.engine"),
    ("5. the front door of composer", "infra.engine.tick", "composer.machine.conductor"),
    ("5. the front door of composer", "actions.model", "composer.languages.asl.running"),
    ("5. the front door of actions", "infra.engine.tick", "actions.model"),
    ("5. the front door of adapters", "infra.service.clouds", "adapters.channel"),
    ("5. the front door of transactions", "infra.engine.tick", "transactions.locks"),
    ("5. the front door of infra.access", "infra.service.server", "infra.access.namespaces"),
    ("5. the front door of infra.aws", "infra.lambdas.protocol", "infra.aws.sigv4"),
    ("5. the front door of infra.cli", "infra.service.server", "infra.cli.main"),
    ("5. the front door of infra.client", "infra.cli.executions", "infra.client.transport"),
    ("5. the front door of infra.deploy", "infra.cli.bundles", "infra.deploy.targets"),
    ("5. the front door of infra.edge", "infra.service.server", "infra.edge.census"),
    ("5. the front door of infra.engine", "infra.cli.executions", "infra.engine.inbox"),
    ("5. the front door of infra.engine", "infra.http.api", "infra.engine.entities.mailboxes"),
    ("5. the front door of infra.engine", "infra.stepfunctions.machines", "infra.engine.tick"),
    ("5. the front door of infra.handles", "infra.service.handles", "infra.handles.listings"),
    ("5. the front door of infra.http", "infra.lambdas.protocol", "infra.http.requests"),
    ("5. the front door of infra.lambdas", "infra.service.api", "infra.lambdas.routes"),
    ("5. the front door of infra.service", "infra.cli.serve", "infra.service.app"),
    ("5. the front door of infra.stepfunctions", "infra.service.app", "infra.stepfunctions.api"),
    ("5. the front door of infra.stores", "infra.service.app", "infra.stores.sqlite"),
    ("5. the front door of infra.worker", "infra.cli.worker", "infra.worker.worker"),
    ("6. inside composer", "composer.machine.program", "composer.dsl.composition"),
    ("6. inside composer", "composer.machine.dialect", "composer.languages"),
    ("6. inside composer", "composer.languages.asl.lowering", "composer.dialects"),
    ("6. inside composer", "composer.dsl.compiler", "composer.languages.asl.running.dialect"),
    ("6. inside composer", "composer.testing", "composer.views.diagram"),
    ("6. inside composer", "composer.errors", "composer.values"),
    ("6a. the machine names no language", "composer.machine.joins", "composer.languages.asl"),
    ("6a. the machine names no language", "composer.machine.conductor", "composer.dsl.compiler"),
    ("6a. the machine names no language", "composer.machine.program", "composer.dialects"),
    ("6a. the machine names no language", "composer.machine.plain",
     "composer.languages.asl.running.dialect"),
    ("6b. languages do not import each other", "composer.languages.asl.lowering",
     "composer.languages.composer_json"),
    ("6c. JSONata imports nothing of ours", "composer.languages.jsonata.texts", "composer.values"),
    ("6e. jq imports nothing of ours", "composer.languages.jq.texts", "composer.languages.jsonata"),
    ("6d. inside the States Language", "composer.languages.asl.maps.items",
     "composer.languages.asl.running.view"),
    ("6d. inside the States Language", "composer.languages.asl.running.dialect",
     "composer.languages.asl.lowering"),
    ("6d. inside the States Language", "composer.languages.asl.running.tasks",
     "composer.languages.asl.checking.schema"),
    ("7. inside infra", "infra.http.api", "infra.stepfunctions"),
    ("7. inside infra", "infra.lambdas.routes", "infra.stepfunctions"),
    ("7. inside infra", "infra.access.namespaces", "infra.engine"),
    ("7. inside infra", "infra.settings", "infra.service"),
    ("8. the engine knows ports, not stores", "infra.engine.tick", "infra.stores"),
    ("8. the engine knows ports, not stores", "infra.http.api", "infra.stores"),
    ("9. what runs in a cloud stands alone: composer, the standard library, that cloud's own library",
     "infra.deploy.hosted.conductor", "actions"),
    ("9. what runs in a cloud stands alone: composer, the standard library, that cloud's own library",
     "infra.deploy.hosted.endpoints", "orjson"),
    ("10. the hosted conductor knows ports, not clouds", "infra.deploy.hosted.conductor",
     "infra.deploy.hosted.aws_table"),
    ("11. clouds stand apart", "infra.deploy.hosted.conductor", "boto3"),
]  # fmt: skip
# Contracts that must list every module of a package, except the modules that they allow: the name
# up to its first blank, the list, the package, and the modules that are allowed.
LISTED = [
    ("2b.", "source_modules", "actions", {"runtimes"}),
    ("6b.", "modules", "composer.languages", {"jq", "jsonata"}),
    ("6c.", "forbidden_modules", "composer", {"dialects", "languages"}),
    ("6c.", "forbidden_modules", "composer.languages", {"jsonata"}),
    ("6e.", "forbidden_modules", "composer", {"dialects", "languages"}),
    ("6e.", "forbidden_modules", "composer.languages", {"jq"}),
    ("9.", "forbidden_modules", "", {"composer", "infra"}),
    ("9.", "forbidden_modules", "infra", {"deploy"}),
    ("9.", "forbidden_modules", "infra.deploy", {"hosted"}),
]
EXHAUSTIVE = [contract["name"] for contract in TOLD["contracts"] if contract.get("exhaustive")]


@cache
def imports():
    """What imports what; asking for it takes seconds."""
    return grimp.build_graph(*ROOTS, include_external_packages=True, cache_dir=None)


def kept(name, graph):
    """Whether a contract is kept by these imports."""
    configuration.configure()
    contract = {
        key: str(value) if isinstance(value, bool) else value  # as the linter reads TOML
        for key, value in CONTRACTS[name].items()
        if key not in ("name", "type")
    }
    kind = KINDS[CONTRACTS[name]["type"]]
    return kind(name, TOLD, contract).check(copy.deepcopy(graph), verbose=False).kept


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_contract_is_kept_and_a_planted_import_that_breaks_it_is_known(name):
    assert kept(name, imports())
    assert name in {planted for planted, _, _ in PLANTED}


@pytest.mark.parametrize(("name", "importer", "imported"), PLANTED)
def test_a_planted_import_breaks_its_contract(name, importer, imported):
    graph = copy.deepcopy(imports())
    ours = imported.split(".")[0] in ("composer", "actions", "adapters", "transactions", "infra")
    importer, imported = PREFIX + importer, PREFIX + imported if ours else imported
    assert importer in graph.modules
    assert imported in graph.modules or not ours
    graph.add_module(imported, is_squashed=not ours)

    graph.add_import(importer=importer, imported=imported)

    assert not kept(name, graph)


@pytest.mark.parametrize("name", EXHAUSTIVE)
def test_a_module_that_no_layer_names_breaks_the_contract(name):
    graph = copy.deepcopy(imports())
    for container in CONTRACTS[name]["containers"]:
        graph.add_module(f"{container}.nowhere")

    assert not kept(name, graph)


@pytest.mark.parametrize(("number", "key", "package", "allowed"), LISTED)
def test_a_list_of_modules_has_every_module_of_its_package(number, key, package, allowed):
    (contract,) = (contract for name, contract in CONTRACTS.items() if name.split()[0] == number)
    parent = (PREFIX + package).rstrip(".")
    children = {child.removeprefix(f"{parent}.") for child in imports().find_children(parent)}

    assert children - allowed == {
        module.removeprefix(f"{parent}.")
        for module in contract[key]
        if module.rpartition(".")[0] == parent
    }


def test_every_package_of_infra_has_a_front_door():
    folders = {path.name for path in (ROOT / "infra").iterdir() if (path / "__init__.py").exists()}

    assert folders == {
        name.removeprefix("5. the front door of infra.") for name in CONTRACTS if " infra." in name
    }
