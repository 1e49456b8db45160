#!/usr/bin/env python3
"""A pipeline of three stages, killed over and over, in which every effect happens exactly once.

Orders are reserved, charged and shipped. Each stage takes messages, does its work on them, and
passes them on, all in one commit: over HTTP as a transaction with keys, then in SQL as a
transaction of the application with tables of its own. Meanwhile SIGKILL ends the producer, the
workers and the broker at random moments. At the end everything is added up.

Python's standard library only. See README.md beside this file.
"""

import argparse
import collections
import http.client
import json
import os
import random
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
GROUP = "shop"
LANES = 24
BATCH = 5
PUSH_BATCH = 20
LEASE_SECONDS = 1
WORKERS = 2
PATIENCE_SECONDS = 180
STAGES = ("reserve", "charge", "ship")
PRODUCTS = ("crown", "comb", "honey", "wax", "smoker")


def order(number):
    """Order number so and so: the same whenever and wherever it is made."""
    return {
        "order": number,
        "customer": f"customer-{number % LANES}",
        "product": PRODUCTS[number * 7 % len(PRODUCTS)],
        "quantity": 1 + number % 4,
        "total": 100 + number * 37 % 900,
    }


def effect(stage, goods):
    """What a stage adds to which counter."""
    return {
        "reserve": (f"stock/{goods['product']}", -goods["quantity"]),
        "charge": (f"revenue/{goods['customer']}", goods["total"]),
        "ship": (f"parcels/{goods['product']}", 1),
    }[stage]


def expected(orders):
    """Every counter as it has to be in the end."""
    counters = collections.Counter()
    for number in range(orders):
        for stage in STAGES:
            key, delta = effect(stage, order(number))
            counters[key] += delta
            counters[f"{stage}/{number}"] += 1
    return dict(counters)


class Unsettled(Exception):
    """No answer came, or one that says to come again: it may have happened or not."""


class Api:
    """Calls to the broker, which may be gone; not for several threads."""

    def __init__(self, port):
        self.port = port
        self.connection = None

    def call(self, method, path, body=None):
        """Returns the parsed body, None where there is none."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        data = None if body is None else json.dumps(body).encode()
        try:
            self.connection.request(method, path, data, {"Content-Type": "application/json"})
            response = self.connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.connection.close()
            self.connection = None
            raise Unsettled(str(error)) from error
        if response.status == 503:
            raise Unsettled(text.decode())
        if response.status >= 400:
            raise RuntimeError(f"{method} {path}: {response.status} {text.decode()}")
        return json.loads(text) if text else None

    def patiently(self, method, path, body=None):
        """The same call again and again, where that does no harm."""
        while True:
            try:
                return self.call(method, path, body)
            except Unsettled:
                time.sleep(0.05)


# ---- over HTTP -----------------------------------------------------------------------------------


def produce(args):
    """Pushes all orders, from the first one on whenever it is started.

    The transactionId says which order it is, so what an earlier life has pushed is not stored again.
    """
    api = Api(args.port)
    for start in range(0, args.orders, PUSH_BATCH):
        items = [
            {
                "queue": f"{args.run}-reserve",
                "partition": order(n)["customer"],
                "transactionId": f"order-{n}",
                "payload": order(n),
            }
            for n in range(start, min(args.orders, start + PUSH_BATCH))
        ]
        again = items
        while again:
            results = api.patiently("POST", "/api/v1/push", {"items": again})
            log(args, collections.Counter(r["status"] for r in results))
            again = [again[r["index"]] for r in results if r["status"] == "failed"]
        time.sleep(PUSH_BATCH / args.rate)


def work(args):
    """One worker of a stage. All that it does to a batch is one transaction: there is no moment at
    which it could die and leave half of it."""
    api = Api(args.port)
    following = dict(zip(STAGES, STAGES[1:])).get(args.stage)
    query = urllib.parse.urlencode(
        {
            "batch": BATCH,
            "wait": "true",
            "timeout": 1000,
            "consumerGroup": GROUP,
            "subscriptionMode": "all",
            "leaseSeconds": LEASE_SECONDS,
        }
    )
    while True:
        try:
            popped = api.patiently("GET", f"/api/v1/pop/queue/{args.run}-{args.stage}?{query}")
            if popped is None:
                continue
            messages = popped["messages"]
            time.sleep(random.uniform(0, 0.02))  # the work itself
            answer = api.call("POST", "/api/v1/transaction", bundle(args, following, messages))
        except Unsettled:
            # Nothing to find out: if it was committed the messages do not come again, else they do.
            log(args, {"no answer": 1})
            time.sleep(0.05)
            continue
        again = sum(m["deliveryAttempt"] > 1 for m in messages)
        if answer["success"]:
            log(args, {"done": len(messages), "delivered again": again})
        elif answer["reason"] == "ack_rejected":
            # The lease had ended and another worker has them: nothing of the bundle was done.
            log(args, {"refused": 1})
        else:
            raise RuntimeError(f"{args.stage}: {answer}")


def bundle(args, following, messages):
    """Takes messages off one queue, puts them into the next one, and counts: or none of it."""
    operations = [
        {
            "type": "ack",
            "transactionId": m["transactionId"],
            "partitionId": m["partitionId"],
            "leaseId": m["leaseId"],
            "consumerGroup": GROUP,
            "status": "completed",
        }
        for m in messages
    ]
    if following:
        items = [
            {
                "queue": f"{args.run}-{following}",
                "partition": m["partition"],
                "transactionId": m["transactionId"],
                "payload": m["data"],
            }
            for m in messages
        ]
        operations.append({"type": "push", "items": items})
    counters = collections.Counter()
    for m in messages:
        key, delta = effect(args.stage, m["data"])
        counters[key] += delta
        counters[f"{args.stage}/{m['data']['order']}"] += 1
    kv = [
        {"op": "incr", "ns": args.run, "key": key, "delta": delta, "forever": True}
        for key, delta in counters.items()
    ]
    return {"operations": operations, "kv": kv}


def counters_of(api, run, prefix=""):
    """All keys of the run, page by page."""
    counters, after = {}, None
    while True:
        page = api.patiently(
            "POST",
            "/api/v1/resources/kv/list",
            {"namespace": run, "prefix": prefix, "limit": 1000, "after": after},
        )
        counters.update({row["key"]: row["value"] for row in page["rows"]})
        after = page["nextAfter"]
        if not after:
            return counters


# ---- in SQL --------------------------------------------------------------------------------------

APPLICATION = """
create schema "{run}";
set search_path = "{run}";

-- Tables of the application. No key forbids a second row: whatever happened twice would show.
create table orders (number integer, goods jsonb);
create table effects (stage text, number integer, counter text, delta integer);

create function effect_of(p_stage text, p_goods jsonb) returns table (counter text, delta integer)
language sql immutable as $$
    select case p_stage when 'reserve' then 'stock/' || (p_goods->>'product')
                        when 'charge' then 'revenue/' || (p_goods->>'customer')
                        else 'parcels/' || (p_goods->>'product') end,
           case p_stage when 'reserve' then -(p_goods->>'quantity')::integer
                        when 'charge' then (p_goods->>'total')::integer
                        else 1 end
$$;

-- An order and its message, in one transaction: an outbox without an outbox table.
create function place(p_goods jsonb) returns void
language sql as $$
    insert into "{run}".orders values ((p_goods->>'order')::integer, p_goods);
    select status from queen.push('{run}-sql-reserve', p_goods->>'customer', p_goods::text);
$$;

-- One step of a stage: messages leave one queue, rows are written, messages enter the next queue.
-- It is a part of the caller's transaction, like everything else that this one does.
create function step(p_stage text, p_following text) returns integer
language plpgsql as $$
declare
    v_batch record;
begin
    select array_agg(p.partition) as partitions, array_agg(p.payload) as payloads,
           array_agg(p.partition_id) as partition_ids, array_agg(p.transaction_id) as ids,
           array_agg(p.lease_id) as leases
    into v_batch
    from queen.pop('{run}-sql-' || p_stage, '{group}', {batch}, p_subscription_mode => 'all') p;
    if v_batch.ids is null then
        return 0;
    end if;
    insert into "{run}".effects
    select p_stage, (m::jsonb->>'order')::integer, e.counter, e.delta
    from unnest(v_batch.payloads) m
    cross join lateral "{run}".effect_of(p_stage, m::jsonb) e;
    if p_following is null then
        perform queen.ack(v_batch.partition_ids, v_batch.ids, '{group}', v_batch.leases);
    else
        perform queen.transact(
            array_fill('{run}-sql-' || p_following, array[cardinality(v_batch.ids)]),
            v_batch.partitions, v_batch.payloads, v_batch.ids,
            p_ack_partition_ids => v_batch.partition_ids, p_ack_transaction_ids => v_batch.ids,
            p_ack_groups => array_fill('{group}'::text, array[cardinality(v_batch.ids)]),
            p_ack_lease_ids => v_batch.leases);
    end if;
    return cardinality(v_batch.ids);
end
$$;
"""


class Session:
    """A psql of its own; a broken one is replaced by whoever uses it."""

    def __init__(self, args, command):
        with open(os.path.join(folder_of(args), "psql.log"), "ab") as errors:
            self.process = subprocess.Popen(
                command + ["-XAtq", "-v", "ON_ERROR_STOP=1"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def ask(self, sql):
        """The lines that a statement, or several, answer."""
        lines = []
        try:
            self.process.stdin.write(sql + "\n\\echo .\n")
            self.process.stdin.flush()
            while True:
                line = self.process.stdout.readline()
                if not line:
                    raise Unsettled("the session ended")
                if line == ".\n":
                    return lines
                lines.append(line.rstrip("\n"))
        except OSError as error:
            raise Unsettled(str(error)) from error

    def close(self):
        self.process.kill()
        self.process.wait()


def work_in_sql(args):
    """One worker of a stage in SQL: begins, does a step, commits; a new session where one breaks."""
    following = dict(zip(STAGES, STAGES[1:])).get(args.stage)
    step = "select \"{}\".step('{}', {});".format(
        args.run, args.stage, f"'{following}'" if following else "null"
    )
    session = None
    while True:
        taken = 0
        try:
            session = session or Session(args, find_psql(args))
            taken = int(session.ask("begin;\n" + step)[0])
            if taken:
                time.sleep(random.uniform(0, 0.02))  # what else the application does
            session.ask("commit;")
        except Unsettled:
            if session:
                log(args, {"no answer": int(taken > 0)})
                session.close()
            session = None
            time.sleep(0.05)
            continue
        if taken:
            log(args, {"done": taken})
        else:
            time.sleep(0.02)


def produce_in_sql(args):
    """Places the orders that are not there yet, some in each transaction."""
    session = None
    while True:
        try:
            session = session or Session(args, find_psql(args))
            there = int(session.ask(f'select count(*) from "{args.run}".orders;')[0])
            if there >= args.orders:
                return
            placed = [
                "select \"{}\".place('{}');".format(args.run, json.dumps(order(n)))
                for n in range(there, min(args.orders, there + PUSH_BATCH))
            ]
            session.ask("\n".join(["begin;", *placed, "commit;"]))
        except Unsettled:
            if session:
                session.close()
            session = None
        time.sleep(PUSH_BATCH / args.rate)


def find_psql(args):
    """How to reach the broker's database now; the embedded one may come back at another port."""
    if "PG_HOST" in os.environ:
        os.environ["PGPASSWORD"] = os.environ.get("PG_PASSWORD", "")
        return [
            "psql",
            "--host=" + os.environ["PG_HOST"],
            "--port=" + os.environ.get("PG_PORT", "5432"),
            "--username=" + os.environ.get("PG_USER", "postgres"),
            os.environ.get("PG_DATABASE", "postgres"),
        ]
    data = os.path.join(folder_of(args), "data")
    try:
        with open(os.path.join(data, "server", "postmaster.pid"), encoding="utf-8") as lines:
            port = lines.read().split("\n")[3]
    except (OSError, IndexError) as error:
        raise Unsettled("the server is down") from error
    os.environ["PGPASSFILE"] = os.path.abspath(os.path.join(data, "pgpass"))
    return ["psql", "-h", "127.0.0.1", "-p", port, "-U", "queen", "queen"]


# ---- who starts, kills and counts ----------------------------------------------------------------


def folder_of(args):
    return os.path.join(args.output, args.run)


def log(args, counts):
    """Adds a line to what this process has seen; a kill loses at most the line under way."""
    with open(os.path.join(folder_of(args), f"{args.role}.jsonl"), "a", encoding="utf-8") as out:
        out.write(json.dumps(counts) + "\n")


def seen(args, role):
    """What all processes of a role have seen together."""
    path = os.path.join(folder_of(args), f"{role}.jsonl")
    total = collections.Counter()
    if os.path.exists(path):
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                if line.endswith("\n"):
                    total.update(json.loads(line))
    return total


class Broker:
    """The broker of this run, killed and started again at the same port."""

    def __init__(self, args):
        self.command = shlex.split(args.broker)
        self.environment = {
            **os.environ,
            "HOST": "127.0.0.1",
            "PORT": str(args.port),
            "QUEEN_DATA_DIR": os.path.abspath(os.path.join(folder_of(args), "data")),
        }
        self.output = open(os.path.join(folder_of(args), "broker.log"), "ab")
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            self.command, env=self.environment, stdout=self.output, stderr=subprocess.STDOUT
        )

    def await_ready(self, api):
        while True:
            self.check()
            try:
                api.call("GET", "/health")
                return
            except Unsettled:
                time.sleep(0.05)

    def check(self):
        """It may be killed, but must not end by itself."""
        if self.process.poll() is not None:
            raise RuntimeError(f"the broker has ended, see {self.output.name}")

    def strike(self):
        self.process.kill()
        self.process.wait()
        self.start()

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.output.close()


class Workers:
    """Processes of one role, each with whatever it has started itself in a group of its own."""

    def __init__(self, args, part, stage, count):
        self.args, self.role, self.stage = args, f"{part}-{stage}", stage
        self.processes = [self.start() for _ in range(count)]

    def start(self):
        args = self.args
        return subprocess.Popen(
            [sys.executable, __file__, "--run", args.run, "--port", str(args.port)]
            + ["--orders", str(args.orders), "--rate", str(args.rate), "--output", args.output]
            + ["--role", self.role, "--stage", self.stage],
            start_new_session=True,
        )

    def strike(self):
        index = random.randrange(len(self.processes))
        self.kill(self.processes[index])
        self.processes[index] = self.start()

    def failed(self):
        return any(process.poll() not in (None, 0) for process in self.processes)

    def stop(self):
        for process in self.processes:
            self.kill(process)

    @staticmethod
    def kill(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it had finished
        process.wait()


def run(args, part, broker, finished):
    """Starts everybody, kills somebody now and then, returns when all is worked off."""
    roles = {"producer": Workers(args, part, "producer", 1)}
    roles.update({stage: Workers(args, part, stage, WORKERS) for stage in STAGES})
    victims = {"broker": broker, **roles}
    # Everybody in turn, so that also a short run hits each of them.
    names = [list(victims)[i % len(victims)] for i in range(args.kills)]
    random.shuffle(names)
    span = args.orders / args.rate
    moments = sorted(random.uniform(0.1, 1) * span for _ in names)
    start = time.monotonic()
    try:
        while True:
            elapsed = time.monotonic() - start
            if names and elapsed >= moments[0]:
                moments.pop(0)
                name = names.pop(0)
                victims[name].strike()
                who = f"a worker of {name}" if name in STAGES else f"the {name}"
                print(f"  {elapsed:5.1f} s   killed {who}")
            elif not names and finished():
                # Whatever were to be delivered once more would come within a lease.
                time.sleep(LEASE_SECONDS + 0.5)
                return time.monotonic() - start
            broker.check()
            if any(worker.failed() for worker in roles.values()):
                raise RuntimeError(f"a worker has failed, see {folder_of(args)}")
            if elapsed > PATIENCE_SECONDS:
                raise RuntimeError("not all orders were shipped in time")
            time.sleep(0.02)
    finally:
        for workers in roles.values():
            workers.stop()


def report(args, part, counters, seconds):
    """Prints what the workers saw and what is counted in the end; returns what is wrong."""
    produced = seen(args, f"{part}-producer")
    if produced:
        print(
            f"  producer  {produced['queued']:,} stored, {produced['duplicate']:,} pushed again and"
            " recognised"
        )
    for stage in STAGES:
        saw = seen(args, f"{part}-{stage}")
        print(
            f"  {stage:<8}  {saw['done']:,} messages seen done, {saw['delivered again']:,} of them"
            f" delivered again; {saw['refused']:,} batches refused, {saw['no answer']:,} without an"
            " answer"
        )
    wanted = expected(args.orders)
    wrong = [
        f"{part}: {key} is {counters.get(key, 0)} instead of {wanted.get(key, 0)}"
        for key in sorted(wanted.keys() | counters.keys())
        if counters.get(key, 0) != wanted.get(key, 0)
    ]
    sums = collections.Counter()
    for key, value in counters.items():
        sums[key.split("/")[0]] += value
    print(
        f"  effects   {sums['reserve']:,} reserved, {sums['charge']:,} charged, {sums['ship']:,}"
        f" shipped; stock {sums['stock']:,}, revenue {sums['revenue']:,}, parcels"
        f" {sums['parcels']:,}"
    )
    print(f"  took {seconds:.1f} s; {len(wrong)} of {len(wanted):,} counters are wrong\n")
    return wrong


def pipeline_over_http(args, broker, api):
    print("over HTTP: ack, push and counters are one transaction of the broker")
    seconds = run(
        args, "http", broker, lambda: len(counters_of(api, args.run, "ship/")) >= args.orders
    )
    return report(args, "http", counters_of(api, args.run), seconds)


def pipeline_in_sql(args, broker):
    """The same with queues of its own; where it ends is asked in sessions that may break."""
    print("in SQL: ack, push and rows of the application are one transaction of PostgreSQL")

    def ask(sql):
        while True:
            session = None
            try:
                session = Session(args, find_psql(args))
                return session.ask(sql)
            except Unsettled:
                time.sleep(0.05)
            finally:
                if session:
                    session.close()

    ask(APPLICATION.format(run=args.run, group=GROUP, batch=BATCH))
    shipped = f"select count(*) from \"{args.run}\".effects where stage = 'ship';"
    seconds = run(args, "sql", broker, lambda: int(ask(shipped)[0]) >= args.orders)
    lines = ask(
        f"""
        select counter, sum(delta) from "{args.run}".effects group by 1
        union all
        select stage || '/' || number, count(*) from "{args.run}".effects group by 1;
        """
    )
    counters = {key: int(value) for key, value in (line.split("|") for line in lines)}
    return report(args, "sql", counters, seconds)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--orders", type=int, default=1500, help="orders in each part (%(default)s)")
    parser.add_argument("--rate", type=float, default=150, help="orders per second (%(default)s)")
    parser.add_argument("--kills", type=int, default=15, help="kills in each part (%(default)s)")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of the moments")
    parser.add_argument(
        "--broker",
        default=shlex.quote(os.path.join(ROOT, "queen")) + " serve",
        help="command that starts a broker; PG_HOST and so on name its database, else it has its own",
    )
    parser.add_argument("--output", default=os.path.join(HERE, "output"), help=argparse.SUPPRESS)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--role", help=argparse.SUPPRESS)
    parser.add_argument("--stage", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.role:
        part, stage = args.role.split("-")
        produces = stage == "producer"
        if part == "http":
            produce(args) if produces else work(args)
        else:
            produce_in_sql(args) if produces else work_in_sql(args)
        return 0

    args.run = time.strftime("exactly-once-%Y%m%d-%H%M%S")
    args.port = free_port()
    random.seed(args.seed)
    folder = folder_of(args)
    os.makedirs(folder)
    print(
        f"{args.orders:,} orders through {len(STAGES)} stages in {LANES} lanes, {WORKERS} workers"
        f" each; {args.kills} kills a part, seed {args.seed}\n"
    )
    broker = Broker(args)
    try:
        api = Api(args.port)
        broker.await_ready(api)
        problems = pipeline_over_http(args, broker, api)
        if shutil.which("psql"):
            problems += pipeline_in_sql(args, broker)
        else:
            print("no psql found: the part in SQL is left out")
    finally:
        broker.stop()
    for problem in problems[:20]:
        print("WRONG     " + problem)
    print("every effect exactly once" if not problems else f"{len(problems)} problems")
    shutil.rmtree(os.path.join(folder, "data"), ignore_errors=True)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
