"""The manifests of deploy/kubernetes fit each other and the program.

    manifests_test.py SCORECAST REPOSITORY

Looks for what no schema knows: flags that the program has, ports on which it listens, labels that select the pods,
files that are mounted, and pods that the fronts list. Without PyYAML the test is skipped.
"""

import re
import subprocess
import sys
from pathlib import Path

try:
    import yaml
except ImportError:
    print("SKIP: PyYAML is not installed")
    sys.exit(0)

scorecast, repository = sys.argv[1], Path(sys.argv[2])
documents = [
    document
    for file in sorted((repository / "deploy/kubernetes").glob("*.yaml"))
    for document in yaml.safe_load_all(file.read_text())
]
faults = []


def expect(condition, text):
    if not condition:
        faults.append(text)


def one(kind, name):
    found = [d for d in documents if d["kind"] == kind and d["metadata"]["name"] == name]
    expect(len(found) == 1, f"{kind} {name} comes {len(found)} times")
    return found[0]


def container(workload):
    return workload["spec"]["template"]["spec"]["containers"][0]


def flags(command, subcommand):
    """The flags of a subcommand of scorecast in a command, with their values; "" for a flag without one."""
    begin = len(command) - 1 - command[::-1].index(subcommand)
    expect(command[begin - 1] == "scorecast", f"{subcommand} is not behind scorecast")
    found, words = {}, command[begin + 1 :]
    for word, following in zip(words, [*words[1:], "--"], strict=True):
        if word.startswith("--"):
            found[word] = "" if following.startswith("--") else following
    return found


def check_flags(given, subcommand):
    run = subprocess.run([scorecast, subcommand, "--help"], capture_output=True, text=True, check=True)
    known = set(re.findall(r"^ +(?:-\w,)?(--[a-z-]+)", run.stdout, re.MULTILINE))
    expect(len(known) > 10, f"{subcommand} --help has few flags")
    for flag in given:
        expect(flag in known, f"scorecast {subcommand} has no {flag}")


def check_pod(workload, given):
    """Ports, probes and mounted files of a workload whose program has these flags."""
    name = workload["metadata"]["name"]
    spec = workload["spec"]["template"]["spec"]
    listens = {flag.removeprefix("--"): int(value) for flag, value in given.items() if flag.endswith("port")}
    ports = {port["name"]: port["containerPort"] for port in container(workload)["ports"]}
    names = {"port": "requests", "http-port": "http", "health-port": "health"}
    expect({names[flag]: port for flag, port in listens.items()} == ports, f"{name}: {listens} are not {ports}")
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        get = container(workload).get(probe, {}).get("httpGet")
        if get is not None:
            expect(get["port"] in ports, f"{name}: {probe} asks at {get['port']}")
            wanted = "/ready" if probe == "readinessProbe" else "/health"
            expect(get["path"] == wanted, f"{name}: {probe} asks {get['path']}")
    mounts = {mount["name"]: mount["mountPath"] for mount in container(workload)["volumeMounts"]}
    expect(set(mounts) == {volume["name"] for volume in spec["volumes"]}, f"{name}: volumes differ from mounts")
    for flag, value in given.items():
        if value.startswith("/"):
            expect(any(value.startswith(path + "/") for path in mounts.values()), f"{name}: {flag} {value} is not mounted")


def selected(selector, workload):
    labels = workload["spec"]["template"]["metadata"]["labels"]
    return selector and selector.items() <= labels.items()


def check():
    services, fronts = one("StatefulSet", "scorecast"), one("Deployment", "scorecast-front")
    serve = flags(container(services)["command"], "serve")
    front = flags(container(fronts)["command"], "front")
    check_flags(serve, "serve")
    check_flags(front, "front")
    check_pod(services, serve)
    check_pod(fronts, front)
    expect(container(services)["image"] == container(fronts)["image"], "the images differ")

    headless = one("Service", services["spec"]["serviceName"])
    for selector, workload in (
        (headless["spec"]["selector"], services),
        (one("Service", "scorecast")["spec"]["selector"], fronts),
        (one("PodDisruptionBudget", "scorecast-services")["spec"]["selector"]["matchLabels"], services),
        (one("NetworkPolicy", "scorecast-services")["spec"]["podSelector"]["matchLabels"], services),
        (services["spec"]["selector"]["matchLabels"], services),
        (fronts["spec"]["selector"]["matchLabels"], fronts),
    ):
        expect(selected(selector, workload), f"{selector} does not select {workload['metadata']['name']}")
        expect(not selected(selector, fronts if workload is services else services), f"{selector} selects too much")
    rules = one("NetworkPolicy", "scorecast-services")["spec"]["ingress"]
    expect(selected(rules[0]["from"][0]["podSelector"]["matchLabels"], fronts), "the fronts are kept out")
    expect(rules[0]["ports"][0]["port"] == int(serve["--port"]), "the fronts are let in at another port")
    expect(rules[1]["ports"][0]["port"] == int(serve["--health-port"]), "probes are let in at another port")

    scaler = one("HorizontalPodAutoscaler", "scorecast")["spec"]
    expect(scaler["scaleTargetRef"]["name"] == "scorecast", "another workload is scaled")
    listed = one("ConfigMap", "scorecast-replicas")["data"]["list"].splitlines()
    expect(
        listed == [f"scorecast-{i} scorecast-{i}.scorecast-services:{serve['--port']}" for i in range(scaler["maxReplicas"])],
        "the list of the services is not that of the pods that there may be",
    )
    metric = scaler["metrics"][0]["pods"]["metric"]["name"]
    expect(f"| `{metric}` | gauge |" in (repository / "docs/operations.md").read_text(), f"there is no metric {metric}")


check()
print("\n".join(faults) or "ok")
sys.exit(1 if faults else 0)
