-- V006: what has been going on. Brokers report now and then what clients did to which queue, and
-- how they fare themselves; people look back at it. Nothing that delivers a message reads these
-- tables, and what a crash takes away of them is gone.

-- A row per process: what the one before it under the same name left behind is none of its own.
create table queen_store.brokers (
    id integer primary key generated always as identity,
    name text not null,
    port integer not null,
    version text not null,
    started_at timestamptz not null
);

comment on table queen_store.brokers is
    'One row per start of a broker. Whether it is still there tells the age of its last sample.';
comment on column queen_store.brokers.id is 'Internal number; another one after a restart.';
comment on column queen_store.brokers.name is 'QUEEN_SERVER_ID, else the name of its host.';
comment on column queen_store.brokers.port is 'Where its HTTP API listens.';
comment on column queen_store.brokers.version is 'Version of the broker.';
comment on column queen_store.brokers.started_at is 'When it began to report.';

create table queen_store.broker_samples (
    sampled_at timestamptz not null,
    broker_id integer not null,
    span_ms bigint not null,
    push_requests bigint not null,
    push_messages bigint not null,
    pop_requests bigint not null,
    pop_messages bigint not null,
    ack_requests bigint not null,
    ack_messages bigint not null,
    ack_failed bigint not null,
    transactions bigint not null,
    database_errors bigint not null,
    lag_ms_sum bigint not null,
    lag_ms_max bigint not null,
    parked integer not null,
    tick_lag_us bigint not null,
    tick_lag_us_max bigint not null,
    cpu_user_us bigint not null,
    cpu_system_us bigint not null,
    resident_bytes bigint not null,
    pool_size integer not null,
    pool_active integer not null,
    pool_idle integer not null,
    pool_waiting integer not null,
    primary key (sampled_at, broker_id)
);

comment on table queen_store.broker_samples is
    'One row per broker and METRICS_FLUSH_MS, traffic or not. Kept for METRICS_RETENTION_DAYS.';
comment on column queen_store.broker_samples.sampled_at is 'When it was reported.';
comment on column queen_store.broker_samples.broker_id is 'Broker.';
comment on column queen_store.broker_samples.span_ms is 'Time since the sample before: what the sums are of.';
comment on column queen_store.broker_samples.push_requests is 'Requests to push.';
comment on column queen_store.broker_samples.push_messages is 'Messages stored.';
comment on column queen_store.broker_samples.pop_requests is 'Requests to pop.';
comment on column queen_store.broker_samples.pop_messages is 'Messages delivered.';
comment on column queen_store.broker_samples.ack_requests is 'Requests to acknowledge.';
comment on column queen_store.broker_samples.ack_messages is 'Acknowledgements in these requests.';
comment on column queen_store.broker_samples.ack_failed is 'Acknowledgements that told of a failure or were refused.';
comment on column queen_store.broker_samples.transactions is 'Transactions committed.';
comment on column queen_store.broker_samples.database_errors is 'Calls whose connection broke.';
comment on column queen_store.broker_samples.lag_ms_sum is 'Ages at delivery of the messages delivered, added up.';
comment on column queen_store.broker_samples.lag_ms_max is 'Age of the oldest one.';
comment on column queen_store.broker_samples.parked is 'Pops that waited for messages at that moment.';
comment on column queen_store.broker_samples.tick_lag_us is 'How late a tick of the broker came, on average.';
comment on column queen_store.broker_samples.tick_lag_us_max is 'How late the latest one came.';
comment on column queen_store.broker_samples.cpu_user_us is 'Processor time spent on its own code.';
comment on column queen_store.broker_samples.cpu_system_us is 'Processor time spent on what it asked of the kernel.';
comment on column queen_store.broker_samples.resident_bytes is 'Memory of the process that is in the machine''s.';
comment on column queen_store.broker_samples.pool_size is 'Connections it may open.';
comment on column queen_store.broker_samples.pool_active is 'Connections in use.';
comment on column queen_store.broker_samples.pool_idle is 'Connections open and not in use.';
comment on column queen_store.broker_samples.pool_waiting is 'Threads that waited for one.';

-- Three widths, written at once: whoever looks at a long time reads few rows.
create table queen_store.queue_buckets (
    queue_id integer not null,
    minutes smallint not null check (minutes in (1, 15, 360)),
    bucket timestamptz not null,
    push_requests bigint not null,
    push_messages bigint not null,
    pops bigint not null,
    pop_messages bigint not null,
    empty_pops bigint not null,
    ack_requests bigint not null,
    acks bigint not null,
    failed_acks bigint not null,
    conflated bigint not null,
    transactions bigint not null,
    lanes_made bigint not null,
    lanes_removed bigint not null,
    dead_letters bigint not null,
    lag_ms_sum bigint not null,
    lag_ms_max bigint not null,
    primary key (queue_id, minutes, bucket)
) with (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0,
    vacuum_truncate = off
);
create index queue_buckets_minutes_bucket_idx on queen_store.queue_buckets (minutes, bucket);

comment on table queen_store.queue_buckets is
    'What happened to a queue, by time; no row where nothing did. Buckets of a minute are kept for 2 days, those of a quarter of an hour for 14, those of 6 hours for METRICS_RETENTION_DAYS.';
comment on column queen_store.queue_buckets.queue_id is 'Queue.';
comment on column queen_store.queue_buckets.minutes is 'How long a time it is: 1, 15 or 360 minutes.';
comment on column queen_store.queue_buckets.bucket is 'That time, by its beginning.';
comment on column queen_store.queue_buckets.push_requests is 'Pushes, counted once for every partition they wrote to.';
comment on column queen_store.queue_buckets.push_messages is 'Messages stored, those of SQL functions and timers included.';
comment on column queen_store.queue_buckets.pops is 'Pops that got messages.';
comment on column queen_store.queue_buckets.pop_messages is 'Messages they got.';
comment on column queen_store.queue_buckets.empty_pops is 'Pops that got none, in minutes in which something else happened.';
comment on column queen_store.queue_buckets.ack_requests is 'Acknowledging requests, counted once for every partition.';
comment on column queen_store.queue_buckets.acks is 'Acknowledgements that completed a message, automatic ones included.';
comment on column queen_store.queue_buckets.failed_acks is 'Acknowledgements that told of a failure or were refused.';
comment on column queen_store.queue_buckets.conflated is 'Messages that conflating groups passed unread.';
comment on column queen_store.queue_buckets.transactions is 'Transactions that stored messages here.';
comment on column queen_store.queue_buckets.lanes_made is 'Partitions made.';
comment on column queen_store.queue_buckets.lanes_removed is 'Partitions removed.';
comment on column queen_store.queue_buckets.dead_letters is 'Messages given up.';
comment on column queen_store.queue_buckets.lag_ms_sum is 'Ages at delivery of the messages popped, added up.';
comment on column queen_store.queue_buckets.lag_ms_max is 'Age of the oldest one.';

create table queen_store.queue_parked (
    queue_id integer not null,
    broker_id integer not null,
    since timestamptz not null,
    parked integer not null,
    primary key (queue_id, broker_id, since)
);
create index queue_parked_broker_id_idx on queen_store.queue_parked (broker_id);

comment on table queen_store.queue_parked is
    'Pops that wait for messages of a queue at a broker: a row when their number has changed, which holds until the next one, for as long as the broker reports. Of what is older than two days the newest is kept.';
comment on column queen_store.queue_parked.queue_id is 'Queue.';
comment on column queen_store.queue_parked.broker_id is 'Broker.';
comment on column queen_store.queue_parked.since is 'When it was reported.';
comment on column queen_store.queue_parked.parked is 'How many waited.';

create table queen_store.totals (
    only_row boolean primary key default true check (only_row),
    push_requests bigint not null default 0,
    push_messages bigint not null default 0,
    pop_requests bigint not null default 0,
    pop_messages bigint not null default 0,
    ack_requests bigint not null default 0,
    ack_messages bigint not null default 0,
    ack_failed bigint not null default 0,
    acked bigint not null default 0,
    transactions bigint not null default 0,
    database_errors bigint not null default 0,
    dead_letters bigint not null default 0
) with (fillfactor = 50, vacuum_truncate = off);
insert into queen_store.totals (only_row) values (true);

comment on table queen_store.totals is
    'One row: what all brokers have done since the beginning, whatever was deleted since.';
comment on column queen_store.totals.only_row is 'Always true: keeps the table at one row.';
comment on column queen_store.totals.push_requests is 'Requests to push.';
comment on column queen_store.totals.push_messages is 'Messages stored, by whomever.';
comment on column queen_store.totals.pop_requests is 'Requests to pop.';
comment on column queen_store.totals.pop_messages is 'Messages delivered.';
comment on column queen_store.totals.ack_requests is 'Requests to acknowledge.';
comment on column queen_store.totals.ack_messages is 'Acknowledgements in them.';
comment on column queen_store.totals.ack_failed is 'Acknowledgements that told of a failure or were refused.';
comment on column queen_store.totals.acked is 'Messages that acknowledgements completed or retired unread, automatic ones and those of SQL functions included; what killed brokers had not told is missing.';
comment on column queen_store.totals.transactions is 'Transactions committed.';
comment on column queen_store.totals.database_errors is 'Calls whose connection broke.';
comment on column queen_store.totals.dead_letters is 'Messages given up.';
