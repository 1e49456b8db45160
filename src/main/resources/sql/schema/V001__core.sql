-- V001: the tables of the data plane. Never edited once released; what changes later is a V file of
-- its own. Names, units and invariants are in the comments, which psql shows with \d+.

create schema if not exists queen;
create schema if not exists queen_store;

comment on schema queen is
    'Public: views and API functions of the Queen message broker. Changed by addition only.';
comment on schema queen_store is
    'Private: tables of the Queen message broker and the procedures its processes call.';

-- Which function corpus the database holds; the broker compares it with its own before it migrates.
create table queen_store.corpus (
    only_row boolean primary key default true check (only_row),
    number integer not null,
    compatible_from integer not null,
    applied_at timestamptz not null default clock_timestamp(),
    applied_by text not null
);
comment on table queen_store.corpus is
    'One row: which set of functions and views this database holds, and the oldest broker that may use it.';
comment on column queen_store.corpus.only_row is 'Always true: keeps the table at one row.';
comment on column queen_store.corpus.number is 'Corpus applied last; a broker with a lower one never migrates.';
comment on column queen_store.corpus.compatible_from is
    'Lowest corpus a broker may have been built with and still serve from this database.';
comment on column queen_store.corpus.applied_at is 'When that corpus was applied.';
comment on column queen_store.corpus.applied_by is 'Version of the broker that applied it.';

create table queen_store.queues (
    id integer primary key generated always as identity,
    tenant_id uuid not null,
    name text not null check (octet_length(name) <= 1024),
    namespace text not null default '',
    task text not null default '',
    created_at timestamptz not null default clock_timestamp(),
    deleted_at timestamptz,
    lease_seconds integer not null default 60 check (lease_seconds >= 1),
    retry_limit integer not null default 3 check (retry_limit >= 0),
    retry_delay_ms integer not null default 1000 check (retry_delay_ms >= 0),
    dead_letter_queue boolean not null default true,
    dlq_after_max_retries boolean not null default true,
    delayed_processing_seconds integer not null default 0 check (delayed_processing_seconds >= 0),
    window_buffer_seconds integer not null default 0 check (window_buffer_seconds >= 0),
    min_pop_wait_ms integer not null default 0 check (min_pop_wait_ms between 0 and 60000),
    retention_enabled boolean not null default false,
    retention_seconds integer not null default 0 check (retention_seconds >= 0),
    completed_retention_seconds integer not null default 0 check (completed_retention_seconds >= 0),
    max_wait_seconds integer not null default 0 check (max_wait_seconds >= 0),
    encryption_enabled boolean not null default false,
    dedup_window_seconds integer not null default 3600 check (dedup_window_seconds >= 0),
    priority integer not null default 0,
    max_size integer not null default 0 check (max_size >= 0),
    ttl_seconds integer not null default 3600 check (ttl_seconds >= 0),
    retention_sink_hold text not null default ''
        check (retention_sink_hold ~ '^[A-Za-z0-9._-]{0,64}$'),
    retention_sink_hold_max_seconds integer not null default 604800
        check (retention_sink_hold_max_seconds between 60 and 31536000),
    dedup_widened_at timestamptz,
    unread_expiry_seconds integer generated always as (least(
        case when retention_enabled then nullif(retention_seconds, 0) end,
        nullif(max_wait_seconds, 0))) stored,
    expiry_seconds integer generated always as (least(
        case when retention_enabled then nullif(retention_seconds, 0) end,
        case when retention_enabled then nullif(completed_retention_seconds, 0) end,
        nullif(max_wait_seconds, 0))) stored
);
create unique index queues_tenant_id_name_idx on queen_store.queues (tenant_id, name)
    where deleted_at is null;
create index queues_labels_idx on queen_store.queues (tenant_id, namespace, task)
    where deleted_at is null;
-- What the background jobs look for: queues whose messages expire, queues to clean up behind.
create index queues_expiry_idx on queen_store.queues (id)
    where deleted_at is null and expiry_seconds is not null;
create index queues_deleted_idx on queen_store.queues (id) where deleted_at is not null;

comment on table queen_store.queues is
    'One row per queue: identity and configuration. A deleted queue keeps its row until clean-up has removed its lanes.';
comment on column queen_store.queues.id is 'Internal number; never reused.';
comment on column queen_store.queues.tenant_id is 'Owner; 00000000-0000-0000-0000-000000000001 without tenancy.';
comment on column queen_store.queues.name is 'Name, unique per tenant among live queues; up to 1,024 bytes.';
comment on column queen_store.queues.namespace is 'Label that discovery pops match exactly.';
comment on column queen_store.queues.task is 'Label that discovery pops match exactly.';
comment on column queen_store.queues.created_at is 'When the row was made.';
comment on column queen_store.queues.deleted_at is 'When the queue was deleted; its name is free from then on.';
comment on column queen_store.queues.lease_seconds is 'Length of a lease when the pop names none.';
comment on column queen_store.queues.retry_limit is 'Failed acks that redeliver; the next one dead-letters.';
comment on column queen_store.queues.retry_delay_ms is 'Stored and echoed; redelivery is immediate.';
comment on column queen_store.queues.dead_letter_queue is 'Dead-lettering is on when this or dlq_after_max_retries is true.';
comment on column queen_store.queues.dlq_after_max_retries is 'Dead-lettering is on when this or dead_letter_queue is true.';
comment on column queen_store.queues.delayed_processing_seconds is 'A message can be popped this long after its created_at.';
comment on column queen_store.queues.window_buffer_seconds is 'Quiet period of a lane before it delivers.';
comment on column queen_store.queues.min_pop_wait_ms is 'How long a long poll holds an under-full batch.';
comment on column queen_store.queues.retention_enabled is 'Switches retention_seconds and completed_retention_seconds on.';
comment on column queen_store.queues.retention_seconds is 'Age at which a message goes, consumed or not; 0 = never.';
comment on column queen_store.queues.completed_retention_seconds is
    'Age at which a message goes once every group has passed it; 0 = never. Also widens the window in which acks find an id.';
comment on column queen_store.queues.max_wait_seconds is 'Age at which a message goes whatever its state; 0 = never.';
comment on column queen_store.queues.encryption_enabled is 'Payloads are stored as an AES-256-GCM envelope.';
comment on column queen_store.queues.dedup_window_seconds is 'How long a transactionId is refused a second time in its lane; 0 = off.';
comment on column queen_store.queues.priority is 'Stored and echoed; no effect.';
comment on column queen_store.queues.max_size is 'Stored and echoed; no effect.';
comment on column queen_store.queues.ttl_seconds is 'Stored and echoed; no effect (see max_wait_seconds).';
comment on column queen_store.queues.retention_sink_hold is 'Name of the sink that must have taken a message before age rules remove it.';
comment on column queen_store.queues.retention_sink_hold_max_seconds is 'Longest time retention_sink_hold may hold a message back.';
comment on column queen_store.queues.dedup_widened_at is 'When dedup_window_seconds last grew: for a while brokers may still know the shorter window.';
comment on column queen_store.queues.unread_expiry_seconds is
    'Age at which a message goes even if nobody has read it: the shorter one of the ages that say so; null = never.';
comment on column queen_store.queues.expiry_seconds is
    'Age below which no rule removes a message: the shortest one in force; null = none is.';

-- The partition row is the write serializer of its lane: its lock is held from allocation to
-- commit. No column that a push writes is indexed but last_write_at, which changes at most once a
-- second, so that the updates stay heap-only. And no check constraint: PostgreSQL would evaluate it
-- at every push, and prepare it anew for each call. Names, of 1 to 1024 bytes, are checked by who
-- makes a lane.
create table queen_store.partitions (
    id bigint primary key generated always as identity (maxvalue 68719476735),
    queue_id integer not null,
    name text not null,
    created_at timestamptz not null default clock_timestamp(),
    last_offset bigint not null default -1,
    log_start bigint not null default 0,
    last_created_at timestamptz,
    last_write_at timestamptz not null default clock_timestamp(),
    oldest_live_at timestamptz,
    expiry_held_at timestamptz,
    unique (queue_id, name)
) with (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0,
    vacuum_truncate = off
);
-- Without the id: a plan made while the table is empty would take this index to look one up.
create index partitions_queue_id_last_write_at_idx
    on queen_store.partitions (queue_id, last_write_at);
-- Lanes by the age of what expires next. A push changes these columns in an empty lane only.
create index partitions_expiry_idx
    on queen_store.partitions (queue_id, greatest(oldest_live_at, expiry_held_at))
    where oldest_live_at is not null;
-- Empty lanes, longest idle first.
create index partitions_idle_idx on queen_store.partitions (last_write_at)
    where oldest_live_at is null;

comment on table queen_store.partitions is
    'One row per lane: the offset allocator and the bounds of what is retained.';
comment on column queen_store.partitions.id is
    'Number of the lane, never reused; partitionId on the wire is the UUID 00000000-0000-8000-8000-<12 hex digits of it>.';
comment on column queen_store.partitions.queue_id is 'Queue it belongs to.';
comment on column queen_store.partitions.name is 'Name, unique in its queue; 1 to 1,024 bytes.';
comment on column queen_store.partitions.created_at is 'When the lane was made.';
comment on column queen_store.partitions.last_offset is 'Offset handed out last; -1 = none yet.';
comment on column queen_store.partitions.log_start is 'Lowest offset still retained; last_offset + 1 when nothing is.';
comment on column queen_store.partitions.last_created_at is 'created_at of last_offset: the next one is never earlier.';
comment on column queen_store.partitions.last_write_at is
    'When it was last written, exact to one second: indexed, so it moves at most once a second.';
comment on column queen_store.partitions.oldest_live_at is 'created_at of the segment at log_start; null = nothing retained.';
comment on column queen_store.partitions.expiry_held_at is
    'Set where a group has not read what is old enough to go: expiry looks again when messages of this created_at are old enough.';

-- Epochs: the generations of segments. New rows go to the one open epoch.
create table queen_store.epochs (
    epoch integer primary key,
    state text not null
        check (state in ('evacuated', 'built', 'open', 'closed', 'sealed', 'empty')),
    opened_at timestamptz not null default clock_timestamp(),
    closed_at timestamptz,
    holders text[],
    next_after xid8,
    walked_partition_id bigint,
    walked_offset bigint,
    counted_at timestamptz
);
create unique index epochs_open_idx on queen_store.epochs (state) where state = 'open';
insert into queen_store.epochs (epoch, state) values (0, 'evacuated'), (1, 'open');

comment on table queen_store.epochs is
    'Generations of segments: appends go to the open one, 0 takes the survivors of evacuated ones.';
comment on column queen_store.epochs.epoch is 'Number; key of the partition of queen_store.segments.';
comment on column queen_store.epochs.state is
    'evacuated (0 only), built (the next one), open (one), closed (no new appends), sealed (no writer left) or empty (its table is on the way out).';
comment on column queen_store.epochs.opened_at is 'When appends began to go here; of a built one, when it was built.';
comment on column queen_store.epochs.closed_at is 'When the next epoch took over.';
comment on column queen_store.epochs.holders is
    'Of a built one: transactions that may not know its table yet. It opens when they have ended.';
comment on column queen_store.epochs.next_after is
    'A closed one is sealed once every transaction below this one has ended, an empty one goes once no snapshot is older.';
comment on column queen_store.epochs.walked_partition_id is
    'How far a walk in key order has come, null = none is under way: of an evacuation, or in 0 of the removal of what is dead.';
comment on column queen_store.epochs.walked_offset is 'Offset in that lane up to which, inclusive.';
comment on column queen_store.epochs.counted_at is
    'When queue_epochs last became what the epoch holds; null = it is what was told, some seconds of a rotation may be in the wrong one.';

create table queen_store.segments (
    epoch integer not null,
    partition_id bigint not null,
    base_offset bigint not null,
    end_offset bigint not null,
    created_at timestamptz not null,
    flush_id bigint not null,
    keys bytea not null,
    frames bytea,
    -- The epoch stands last: before PostgreSQL 18 a leading one turns every read without it into
    -- a scan.
    primary key (partition_id, base_offset, epoch)
) partition by list (epoch);
create table queen_store.segments_0 partition of queen_store.segments for values in (0);
create table queen_store.segments_1 partition of queen_store.segments for values in (1);
alter table queen_store.segments_0 set (
    autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_insert_scale_factor = 0.3,
    autovacuum_vacuum_cost_limit = 4000, autovacuum_vacuum_cost_delay = 0,
    toast.autovacuum_vacuum_scale_factor = 0.1, toast.autovacuum_vacuum_insert_scale_factor = 0.3,
    toast.autovacuum_vacuum_cost_limit = 4000, toast.autovacuum_vacuum_cost_delay = 0);
alter table queen_store.segments_1 set (
    autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_insert_scale_factor = 0.3,
    autovacuum_vacuum_cost_limit = 4000, autovacuum_vacuum_cost_delay = 0,
    toast.autovacuum_vacuum_scale_factor = 0.1, toast.autovacuum_vacuum_insert_scale_factor = 0.3,
    toast.autovacuum_vacuum_cost_limit = 4000, toast.autovacuum_vacuum_cost_delay = 0);

comment on table queen_store.segments is
    'The log: one row per lane-batch (1 to 1,000 messages). Immutable; read it through queen.messages, queen.read or queen.message.';
comment on column queen_store.segments.epoch is 'Generation it was written in; 0 = moved there by evacuation.';
comment on column queen_store.segments.partition_id is 'Lane.';
comment on column queen_store.segments.base_offset is 'Offset of the first message.';
comment on column queen_store.segments.end_offset is 'Offset of the last message, inclusive.';
comment on column queen_store.segments.created_at is 'Stamped under the lane lock: never falls as offsets rise.';
comment on column queen_store.segments.flush_id is 'Random per lane-batch: settles a commit whose answer was lost.';
comment on column queen_store.segments.keys is '16 bytes per message in offset order: the identity of its transactionId.';
comment on column queen_store.segments.frames is
    'Directory of 4-byte big-endian end offsets, then the messages; null = payload expired, keys still count for dedup.';

-- PostgreSQL's own compression keeps payloads legible in SQL. lz4 where the server was built with
-- it, none where it was not: pglz costs more CPU than the insert itself.
do $$
declare
    v_table text;
begin
    foreach v_table in array array['segments', 'segments_0', 'segments_1'] loop
        begin
            execute format(
                'alter table queen_store.%I alter column frames set compression lz4', v_table);
        exception when feature_not_supported or invalid_parameter_value then
            execute format(
                'alter table queen_store.%I alter column frames set storage external', v_table);
        end;
        execute format(
            'alter table queen_store.%I alter column keys set storage external', v_table);
    end loop;
end
$$;

create table queen_store.groups (
    id integer primary key generated always as identity,
    queue_id integer not null,
    name text not null check (octet_length(name) between 1 and 1024),
    generation integer not null default 1,
    start_rule text check (start_rule in ('all', 'instant')),
    start_at timestamptz,
    created_at timestamptz not null default clock_timestamp(),
    consumed_at timestamptz,
    seek_rule text check (seek_rule in ('all', 'instant')),
    seek_at timestamptz,
    conflation boolean,
    swept_generation integer not null default 1,
    is_known boolean not null generated always as (
        generation = 1 or start_rule is not null or seek_rule is not null
        or conflation is not null or consumed_at is not null) stored,
    unique (queue_id, name)
);
create index groups_stale_idx on queen_store.groups (id) where swept_generation < generation;

comment on table queen_store.groups is
    'One row per consumer group of a queue: where lanes without a cursor begin. __QUEUE_MODE__ is the group of pops without one.';
comment on column queen_store.groups.id is 'Internal number.';
comment on column queen_store.groups.queue_id is 'Queue.';
comment on column queen_store.groups.name is 'Name of the group.';
comment on column queen_store.groups.generation is 'Raised by a group delete or queue-wide seek: older cursors count as absent.';
comment on column queen_store.groups.start_rule is
    'Where a lane without a cursor begins: all = oldest retained, instant = first message created at or after start_at; null = not registered yet.';
comment on column queen_store.groups.start_at is 'Instant of start_rule.';
comment on column queen_store.groups.created_at is 'When the row was made.';
comment on column queen_store.groups.consumed_at is 'First acknowledgement ever; null = none yet.';
comment on column queen_store.groups.seek_rule is 'Queue-wide seek of this generation; wins over start_rule.';
comment on column queen_store.groups.seek_at is 'Instant of seek_rule.';
comment on column queen_store.groups.conflation is 'Last-value delivery, set by the first pop that registers the group; null = not registered.';
comment on column queen_store.groups.is_known is
    'False = deleted, and neither registered nor sought nor acknowledged anything since: nobody is told of it.';
comment on column queen_store.groups.swept_generation is 'Cursors of generations below this one have been removed.';

create table queen_store.cursors (
    partition_id bigint not null,
    group_id integer not null,
    generation integer not null,
    epoch integer not null default 0,
    committed bigint not null,
    prev_committed bigint,
    prev_end bigint,
    batch_end bigint,
    lease_id uuid,
    prev_lease uuid,
    lease_expires_at timestamptz,
    retry_count integer not null default 0,
    attempt_offset bigint,
    attempt_count integer not null default 0,
    lease_conflated boolean not null default false,
    primary key (partition_id, group_id)
) with (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0,
    vacuum_truncate = off
);

comment on table queen_store.cursors is
    'Cursor and lease of one (lane, group). No column but the key is indexed, so every update is heap-only.';
comment on column queen_store.cursors.partition_id is 'Lane.';
comment on column queen_store.cursors.group_id is 'Group.';
comment on column queen_store.cursors.generation is 'Generation of the group it was made under; a lower one counts as absent.';
comment on column queen_store.cursors.epoch is 'Lower bound for the epoch of offset committed + 1.';
comment on column queen_store.cursors.committed is 'Offset acknowledged last; the next one wanted is committed + 1.';
comment on column queen_store.cursors.prev_committed is 'committed before the batch acknowledged last.';
comment on column queen_store.cursors.prev_end is 'committed when prev_lease ended: what lies behind it that lease gave back.';
comment on column queen_store.cursors.batch_end is 'Last offset of the leased batch, inclusive; null = no lease.';
comment on column queen_store.cursors.lease_id is 'Holder; null = no lease.';
comment on column queen_store.cursors.prev_lease is 'Lease whose batch was acknowledged last: its repeated acks are no-ops.';
comment on column queen_store.cursors.lease_expires_at is 'From then on another pop may take the lane.';
comment on column queen_store.cursors.retry_count is 'Failed acks charged since the last completed batch.';
comment on column queen_store.cursors.attempt_offset is
    'First offset of what attempt_count counts: of the delivery, or of what an ack left of it; under conflation of its span.';
comment on column queen_store.cursors.attempt_count is 'How often the message at attempt_offset was delivered.';
comment on column queen_store.cursors.lease_conflated is
    'Of the leased batch only batch_end was delivered, the newest message; the others go with it unread.';

create table queen_store.leases (
    lease_id uuid primary key,
    partition_ids bigint[] not null,
    group_ids integer[] not null,
    expires_at timestamptz not null
);
comment on table queen_store.leases is
    'Lanes of a lease that covers several; a lease of one lane carries its number in its id. The truth is the cursor row.';
comment on column queen_store.leases.lease_id is 'Lease.';
comment on column queen_store.leases.partition_ids is 'Lanes it covers.';
comment on column queen_store.leases.group_ids is 'Group of each lane, in the same order.';
comment on column queen_store.leases.expires_at is 'From then on the row may be swept.';

create table queen_store.bundles (
    bundle_id uuid primary key,
    committed_at timestamptz not null default clock_timestamp()
) with (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 10000,
    autovacuum_vacuum_cost_delay = 0,
    vacuum_truncate = off
);
comment on table queen_store.bundles is
    'One row per transaction with keys, with timers or without pushes: the trace by which a broker that lost the answer recognises its commit. Removed after 10 minutes.';
comment on column queen_store.bundles.bundle_id is 'The transactionId of its answer: a UUIDv7, so that rows stand in order of time.';
comment on column queen_store.bundles.committed_at is 'When the row was written, before any push or ack of the transaction took effect.';

create table queen_store.dead_letters (
    id bigint primary key generated always as identity,
    queue_id integer not null,
    partition_id bigint not null,
    group_name text not null,
    "offset" bigint not null,
    message_id uuid not null,
    transaction_id text not null,
    key bytea not null,
    payload bytea,
    flags smallint not null,
    trace_id uuid,
    producer text,
    created_at timestamptz,
    error text not null,
    retry_count integer not null default 0,
    failed_at timestamptz not null default clock_timestamp()
);
-- Without the id: a plan made while the table is empty would take this index to look one up.
create index dead_letters_queue_id_failed_at_idx
    on queen_store.dead_letters (queue_id, failed_at);
create index dead_letters_partition_id_key_idx on queen_store.dead_letters (partition_id, key);

comment on table queen_store.dead_letters is
    'Snapshot of every message a group gave up, filed in the commit that moved the cursor past it.';
comment on column queen_store.dead_letters.id is 'Internal number.';
comment on column queen_store.dead_letters.queue_id is 'Queue.';
comment on column queen_store.dead_letters.partition_id is 'Lane.';
comment on column queen_store.dead_letters.group_name is 'Group that gave it up; kept when the group is deleted.';
comment on column queen_store.dead_letters."offset" is 'Offset in the lane.';
comment on column queen_store.dead_letters.message_id is 'Id as it was delivered.';
comment on column queen_store.dead_letters.transaction_id is 'transactionId as it was delivered.';
comment on column queen_store.dead_letters.key is 'Its 16-byte identity.';
comment on column queen_store.dead_letters.payload is 'Payload bytes as stored; null = they had expired.';
comment on column queen_store.dead_letters.flags is 'Flags of the frame; bit 32 = encrypted envelope, 64 = not JSON text.';
comment on column queen_store.dead_letters.trace_id is 'traceId or null.';
comment on column queen_store.dead_letters.producer is 'Authenticated producer or null.';
comment on column queen_store.dead_letters.created_at is 'When the message was stored.';
comment on column queen_store.dead_letters.error is 'Reason given by the consumer, or "Retries exhausted".';
comment on column queen_store.dead_letters.retry_count is 'Failed acks that were charged before.';
comment on column queen_store.dead_letters.failed_at is 'When it was filed.';

-- Background jobs of the whole cluster: whoever holds the row's lease runs the job.
create table queen_store.jobs (
    name text primary key,
    enabled boolean not null default true,
    period_ms integer not null check (period_ms >= 1),
    next_due_at timestamptz not null default clock_timestamp(),
    holder uuid,
    lease_until timestamptz,
    fence bigint not null default 0,
    runs bigint not null default 0,
    failures bigint not null default 0,
    last_started_at timestamptz,
    last_ended_at timestamptz,
    last_duration_ms bigint,
    last_steps integer,
    last_error text,
    last_error_at timestamptz
) with (fillfactor = 50, vacuum_truncate = off);

comment on table queen_store.jobs is
    'One row per background job. A job without work is not run, so its row does not change then.';
comment on column queen_store.jobs.name is 'Name of the job.';
comment on column queen_store.jobs.enabled is 'False pauses the job on every broker; whoever operates them sets it.';
comment on column queen_store.jobs.period_ms is 'Time from the start of a run to that of the next; the broker that started last sets it.';
comment on column queen_store.jobs.next_due_at is 'Not run before; a run that left work leaves it in the past.';
comment on column queen_store.jobs.holder is 'Broker that runs it, or that ran it last and has not said so: see lease_until.';
comment on column queen_store.jobs.lease_until is 'Until then nobody but the holder runs it; null = nobody does.';
comment on column queen_store.jobs.fence is 'Raised by every claim: what a holder of before says changes nothing.';
comment on column queen_store.jobs.runs is 'Runs that came to an end.';
comment on column queen_store.jobs.failures is 'Of these, how many failed.';
comment on column queen_store.jobs.last_started_at is 'When it was claimed last.';
comment on column queen_store.jobs.last_ended_at is 'When a run last came to an end.';
comment on column queen_store.jobs.last_duration_ms is 'How long that run took.';
comment on column queen_store.jobs.last_steps is 'Of how many steps, each a transaction, that run was.';
comment on column queen_store.jobs.last_error is 'Why that run failed; null = it did not.';
comment on column queen_store.jobs.last_error_at is 'When a run last failed.';

create table queen_store.retention_history (
    minute timestamptz not null,
    tenant_id uuid not null,
    queue text not null,
    rule text not null check (rule in (
        'retention', 'completed_retention', 'max_wait_time_eviction', 'partition_cleanup')),
    messages bigint not null,
    lanes bigint not null,
    steps bigint not null,
    segments bigint not null default 0,
    bytes bigint not null default 0,
    primary key (minute, tenant_id, queue, rule)
) with (fillfactor = 70, vacuum_truncate = off);
-- What the purge of a tenant looks for.
create index retention_history_tenant_id_idx on queen_store.retention_history (tenant_id);

comment on table queen_store.retention_history is
    'What the storage jobs removed, one row per minute, queue and rule, and none where nothing was. Kept for METRICS_RETENTION_DAYS.';
comment on column queen_store.retention_history.minute is 'Minute, by its beginning.';
comment on column queen_store.retention_history.tenant_id is 'Owner of the queue.';
comment on column queen_store.retention_history.queue is 'Name the queue had.';
comment on column queen_store.retention_history.rule is
    'retention and max_wait_time_eviction = by age, read or not; completed_retention = read by every group; partition_cleanup = empty lanes without use.';
comment on column queen_store.retention_history.messages is 'Messages removed.';
comment on column queen_store.retention_history.lanes is 'Lanes they were in, counted once per step; or lanes removed.';
comment on column queen_store.retention_history.segments is 'Segments they were in; of a lane that lost over a hundred at once an estimate.';
comment on column queen_store.retention_history.bytes is 'Bytes of keys and frames of these, before compression; they leave the disk with their epochs.';
comment on column queen_store.retention_history.steps is 'Steps that removed them, each a transaction.';

-- Statistics: counts is what was told so far, count_deltas what nobody has added to it yet. Both
-- together are read in one statement, so it does not matter when somebody adds.
create table queen_store.counts (
    queue_id integer not null,
    group_id integer not null,
    lanes bigint not null default 0,
    stored bigint not null default 0,
    passed bigint not null default 0,
    granted bigint not null default 0,
    ended bigint not null default 0,
    acked bigint not null default 0,
    dead_letters bigint not null default 0,
    behind bigint not null default 0,
    counted_at timestamptz not null,
    walked_at timestamptz,
    recount_at timestamptz,
    primary key (queue_id, group_id)
) with (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0,
    vacuum_truncate = off
);
create index counts_recount_idx on queen_store.counts (queue_id) where recount_at is not null;

comment on table queen_store.counts is
    'Running sums per queue (group 0) and per (queue, group). Differences of them are meant: stored - passed of a queue are the messages it keeps, stored of the queue + stored - passed of a group those the group has not consumed. The sums only rise, but for what a walk puts right.';
comment on column queen_store.counts.queue_id is 'Queue.';
comment on column queen_store.counts.group_id is 'Group; 0 = the queue itself.';
comment on column queen_store.counts.lanes is
    'Lanes of the queue; of a group those in which it has a cursor, as the last walk found.';
comment on column queen_store.counts.stored is
    'Messages stored; of a group, messages that a seek has put before it again.';
comment on column queen_store.counts.passed is
    'Of these, messages that expired; of a group, messages it has consumed, or would begin behind.';
comment on column queen_store.counts.granted is 'Messages that leases were given on.';
comment on column queen_store.counts.ended is 'Of these, messages whose lease is over.';
comment on column queen_store.counts.acked is
    'Messages that acknowledgements of the group have completed, automatic ones included, and what they retired unread with a conflated one. Nothing else moves it, and no walk: what a killed broker had not told is missing.';
comment on column queen_store.counts.dead_letters is
    'Dead letters of the group; of group 0, those of groups that have no row.';
comment on column queen_store.counts.behind is
    'Lanes with messages that the group has not consumed, as the last walk found.';
comment on column queen_store.counts.counted_at is 'When the row was last changed.';
comment on column queen_store.counts.walked_at is 'When a walk over the lanes last proved or corrected it; null = none has.';
comment on column queen_store.counts.recount_at is
    'A walk that began no earlier than this is wanted, for the numbers may be far off: a group was moved, or all is new.';

create table queen_store.count_deltas (
    queue_id integer not null,
    group_id integer not null,
    lanes bigint not null default 0,
    stored bigint not null default 0,
    passed bigint not null default 0,
    granted bigint not null default 0,
    ended bigint not null default 0,
    acked bigint not null default 0,
    dead_letters bigint not null default 0,
    bytes bigint not null default 0,
    recount boolean not null default false
) with (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 10000,
    autovacuum_vacuum_cost_delay = 0,
    vacuum_truncate = off
);

comment on table queen_store.count_deltas is
    'Changes that are not in counts yet, inserted by whoever made them: the sums of a broker, or one call of the SQL API in its own transaction. A job adds them up and takes them away.';
comment on column queen_store.count_deltas.queue_id is 'Queue.';
comment on column queen_store.count_deltas.group_id is 'Group; 0 = the queue itself.';
comment on column queen_store.count_deltas.lanes is 'Change of the lanes.';
comment on column queen_store.count_deltas.stored is 'Messages stored; of a group, messages put before it again.';
comment on column queen_store.count_deltas.passed is 'Messages that expired, or that the group has passed.';
comment on column queen_store.count_deltas.granted is 'Messages that leases were given on.';
comment on column queen_store.count_deltas.ended is 'Messages whose lease is over.';
comment on column queen_store.count_deltas.acked is 'Messages that acknowledgements completed.';
comment on column queen_store.count_deltas.dead_letters is 'Change of the dead letters.';
comment on column queen_store.count_deltas.bytes is 'Bytes of keys and frames stored, before compression.';
comment on column queen_store.count_deltas.recount is 'The group was moved: only a walk over the lanes tells where it is now.';

create table queen_store.oldest_lanes (
    group_id integer not null,
    partition_id bigint not null,
    unread_at timestamptz not null,
    primary key (group_id, partition_id)
) with (fillfactor = 70, vacuum_truncate = off);

comment on table queen_store.oldest_lanes is
    'Per group up to 100 lanes with the oldest unread message, as the last walk found them. Whoever shows them looks at the lanes themselves.';
comment on column queen_store.oldest_lanes.group_id is 'Group.';
comment on column queen_store.oldest_lanes.partition_id is 'Lane.';
comment on column queen_store.oldest_lanes.unread_at is 'created_at of the oldest message the group had not consumed.';

create table queen_store.queue_epochs (
    queue_id integer not null,
    epoch integer not null,
    messages bigint not null,
    bytes bigint not null,
    primary key (queue_id, epoch)
) with (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0,
    vacuum_truncate = off
);

comment on table queen_store.queue_epochs is
    'What each queue has stored in each epoch, expired messages included for as long as the epoch is there.';
comment on column queen_store.queue_epochs.queue_id is 'Queue.';
comment on column queen_store.queue_epochs.epoch is 'Epoch.';
comment on column queen_store.queue_epochs.messages is 'Messages with their payloads.';
comment on column queen_store.queue_epochs.bytes is 'Bytes of keys and frames, before compression.';
