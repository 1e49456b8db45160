#!/usr/bin/env python3
"""Works off the log of this machine's package manager through a Queen broker.

Every line of dpkg's log is a message; every package is a lane. Two consumer groups handle all of
them: in parallel across lanes, strictly in order within each. The process of one group is killed
half-way and started again. At the end SQL shows how far each group has come in every lane.

Python's standard library only. See README.md beside this file.
"""

import argparse
import collections
import glob
import gzip
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.parse
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
PUSH_BATCH = 100
POP_BATCH = 10
LEASE_SECONDS = 2
WORKERS = 4
GROUPS = ("inventory", "audit")
KILLED = "inventory"
PATIENCE_SECONDS = 120


class Broker:
    """One keep-alive connection to the broker; not for several threads."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=60)

    def call(self, method, path, body=None):
        """Returns status and parsed body; None where there is no body."""
        data = None if body is None else json.dumps(body).encode()
        self.connection.request(method, path, data, {"Content-Type": "application/json"})
        response = self.connection.getresponse()
        text = response.read()
        if response.status >= 400:
            raise RuntimeError(f"{method} {path}: {response.status} {text.decode(errors='replace')}")
        return response.status, json.loads(text) if text else None


def read_log(path):
    """Yields (lane, event) for every line, oldest first. Lines about no package go to lane dpkg."""
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            words = line.split()
            if len(words) < 3:
                continue
            action = words[2]
            subject = words[3:] if action != "status" else words[4:]
            lane = subject[0] if subject and action != "startup" else "dpkg"
            yield lane, {
                "at": f"{words[0]}T{words[1]}",
                "action": action if action != "status" else words[3],
                "version": subject[-1] if len(subject) > 1 and action != "startup" else None,
                "source": f"{os.path.basename(path)}:{number}",
                "text": line.rstrip("\n"),
            }


def find_logs():
    """This machine's own logs, oldest first; the sample beside this file if there are none."""

    def age(path):
        rotation = re.search(r"\.log\.(\d+)", path)
        return -int(rotation.group(1)) if rotation else 0

    own = [path for path in glob.glob("/var/log/dpkg.log*") if os.access(path, os.R_OK)]
    own = [path for path in own if os.path.getsize(path) > 0]
    return sorted(own, key=age) or [os.path.join(HERE, "sample.log")]


def push(url, queue, logs):
    """Pushes all lines, lane by lane in the order of the log; returns how many each lane has."""
    broker = Broker(url)
    lanes = collections.Counter()
    items = []

    def flush():
        if items:
            _, results = broker.call("POST", "/api/v1/push", {"items": items})
            wrong = [r for r in results if r["status"] not in ("queued", "duplicate")]
            if wrong or len(results) != len(items):
                raise RuntimeError(f"not stored: {wrong[:3]}")
            items.clear()

    for path in logs:
        for lane, event in read_log(path):
            lanes[lane] += 1
            event["n"] = lanes[lane]
            # The same line always has the same id: pushing a log again stores nothing twice.
            transaction_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{event['source']} {event['text']}"))
            items.append(
                {
                    "queue": queue,
                    "partition": lane,
                    "transactionId": transaction_id,
                    "payload": event,
                }
            )
            if len(items) == PUSH_BATCH:
                flush()
    flush()
    return lanes


def work(url, queue, group, output):
    """The process of one group: some threads, each pops a batch, handles it, acknowledges it.

    Handling a message appends one line to the group's output. After a crash a batch that was handled
    but not acknowledged is delivered again, so what the output already holds is not handled twice.
    """
    done = collections.Counter()
    if os.path.exists(output):
        with open(output, encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                done[record["lane"]] = max(done[record["lane"]], record["n"])
    out = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    query = urllib.parse.urlencode(
        {
            "batch": POP_BATCH,
            "wait": "true",
            "timeout": 1000,
            "consumerGroup": group,
            "subscriptionMode": "all",
            "leaseSeconds": LEASE_SECONDS,
        }
    )

    def consume(worker):
        broker = Broker(url)
        while True:
            _, answer = broker.call("GET", f"/api/v1/pop/queue/{queue}?{query}")
            if answer is None:
                continue
            for message in answer["messages"]:
                handle(worker, message)
            broker.call(
                "POST",
                "/api/v1/ack/batch",
                {
                    "consumerGroup": group,
                    "acknowledgments": [
                        {
                            "transactionId": message["transactionId"],
                            "partitionId": message["partitionId"],
                            "leaseId": message["leaseId"],
                            "status": "completed",
                        }
                        for message in answer["messages"]
                    ],
                },
            )

    def handle(worker, message):
        lane, event = message["partition"], message["data"]
        again = event["n"] <= done[lane]
        if not again:
            # No lock: the broker gives a lane to one worker of the group at a time.
            done[lane] = event["n"]
        record = {
            "lane": lane,
            "n": event["n"],
            "worker": f"{os.getpid()}.{worker}",
            "attempt": message["deliveryAttempt"],
            "again": again,
            "action": event["action"],
            "version": event["version"],
        }
        os.write(out, (json.dumps(record) + "\n").encode())

    def guarded(worker):
        try:
            consume(worker)
        except Exception as error:  # a worker that cannot go on ends the process, and the run
            print(f"{group}: {error}", file=sys.stderr)
            os._exit(1)

    for worker in range(WORKERS):
        threading.Thread(target=guarded, args=(worker,), daemon=True).start()
    signal.pause()


class Consumers:
    """The processes of the groups."""

    def __init__(self, url, queue, folder):
        self.url, self.queue, self.folder = url, queue, folder
        self.processes = {}

    def output(self, group):
        return os.path.join(self.folder, f"{group}.jsonl")

    def start(self, group):
        self.processes[group] = subprocess.Popen(
            [sys.executable, __file__, "--url", self.url, "--queue", self.queue]
            + ["--work", group, "--output", self.output(group)]
        )

    def kill(self, group):
        process = self.processes[group]
        process.send_signal(signal.SIGKILL)
        process.wait()

    def stop(self):
        for process in self.processes.values():
            process.kill()
            process.wait()

    def handled(self, group):
        """Distinct messages that the group has handled so far."""
        return len({(r["lane"], r["n"]) for r in self.records(group)})

    def records(self, group):
        if not os.path.exists(self.output(group)):
            return []
        with open(self.output(group), encoding="utf-8") as lines:
            return [json.loads(line) for line in lines if line.endswith("\n")]


def consume_all(consumers, total):
    """Runs both groups to the end, killing one when it has come half-way."""
    for group in GROUPS:
        consumers.start(group)
    killed = False
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        counts = {group: consumers.handled(group) for group in GROUPS}
        if not killed and counts[KILLED] >= total // 2:
            consumers.kill(KILLED)
            print(f"killed   {KILLED} after {consumers.handled(KILLED)} messages, started it again")
            consumers.start(KILLED)
            killed = True
        if all(count >= total for count in counts.values()):
            return
        if any(process.poll() is not None for process in consumers.processes.values()):
            return
        time.sleep(0.02)


def check(group, records, lanes):
    """What is wrong with a group's output: every lane complete, each step the next one."""
    problems = []
    last = collections.Counter()
    for record in records:
        lane, n = record["lane"], record["n"]
        if record["again"]:
            if group != KILLED:
                problems.append(f"{group}: {lane} #{n} was delivered twice")
        elif n != last[lane] + 1:
            problems.append(f"{group}: {lane} #{n} came after #{last[lane]}")
        else:
            last[lane] = n
    for lane, count in lanes.items():
        if last[lane] != count:
            problems.append(f"{group}: {lane} ends at #{last[lane]} of {count}")
    return problems


def report(consumers, lanes):
    problems = []
    for group in GROUPS:
        records = consumers.records(group)
        workers = {r["worker"] for r in records}
        again = sum(r["again"] for r in records)
        state = {r["lane"]: r["action"] for r in records}
        installed = sum(action == "installed" for action in state.values())
        print(
            f"{group:<8} {len(records) - again} messages by {len(workers)} workers,"
            f" {again} delivered again after the kill; {installed} packages installed"
        )
        problems += check(group, records, lanes)
    return problems


SQL = """
select c.consumer_group as "group",
       count(*) as lanes,
       sum(c.committed + 1) as messages,
       count(*) filter (where c.lag = 0) as complete
from queen.cursors c
where c.queue = '{queue}'
group by 1
order by 1
"""


def find_psql():
    """How to reach the broker's database: PGHOST and so on, else the embedded server's address."""
    if not shutil.which("psql"):
        return None
    if any(name in os.environ for name in ("PGHOST", "PGDATABASE", "PGSERVICE")):
        return ["psql"]
    data = os.environ.get("QUEEN_DATA_DIR", os.path.join(HERE, "..", "..", "data"))
    running = os.path.join(data, "server", "postmaster.pid")
    if not os.path.exists(running):
        return None
    with open(running, encoding="utf-8") as lines:
        port = lines.read().split("\n")[3]
    os.environ["PGPASSFILE"] = os.path.abspath(os.path.join(data, "pgpass"))
    return ["psql", "-h", "127.0.0.1", "-p", port, "-U", "queen", "queen"]


def ask_database(psql, queue, lanes):
    """Shows in SQL how far each group has come; returns what is wrong with it."""
    sql = SQL.format(queue=queue)
    print(sql.strip() + ";\n")
    shown = subprocess.run([*psql, "-X", "-c", sql], check=False)
    counted = subprocess.run([*psql, "-XAtc", sql], capture_output=True, text=True, check=False)
    if shown.returncode or counted.returncode:
        return ["psql could not ask the database: " + " ".join(psql)]
    expected = [f"{group}|{len(lanes)}|{sum(lanes.values())}|{len(lanes)}" for group in sorted(GROUPS)]
    found = counted.stdout.split()
    return [] if found == expected else [f"SQL shows {found} instead of {expected}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("logs", nargs="*", help="logs of dpkg (default: this machine's, else a sample)")
    parser.add_argument("--url", default="http://127.0.0.1:6632", help="broker (%(default)s)")
    parser.add_argument("--queue", default=time.strftime("package-log-%Y%m%d-%H%M%S"))
    parser.add_argument("--psql", help="command that reaches the broker's database")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--output", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        work(args.url, args.queue, args.work, args.output)
        return 0

    logs = args.logs or find_logs()
    folder = os.path.join(HERE, "output", args.queue)
    os.makedirs(folder, exist_ok=True)
    started = time.monotonic()
    lanes = push(args.url, args.queue, logs)
    total = sum(lanes.values())
    print(f"pushed   {total} lines of {', '.join(logs)} to queue {args.queue}, {len(lanes)} lanes")
    consumers = Consumers(args.url, args.queue, folder)
    try:
        consume_all(consumers, total)
    finally:
        consumers.stop()
    problems = report(consumers, lanes)
    print(f"took     {time.monotonic() - started:.1f} s; what each worker did is in {folder}\n")
    psql = args.psql.split() if args.psql else find_psql()
    if psql:
        problems += ask_database(psql, args.queue, lanes)
    else:
        print("no psql found: the query that shows the lanes in SQL is left out (see --psql)")
    for problem in problems[:20]:
        print("WRONG    " + problem)
    print("every lane complete and in order" if not problems else f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
