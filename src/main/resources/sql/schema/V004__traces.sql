-- V004: traces, what applications note about messages on their way. Nothing of the broker reads
-- them, and they outlive what they are about: a row names its queue and partition itself.

create table queen_store.traces (
    id uuid primary key,
    tenant_id uuid not null,
    queue text not null,
    partition text not null,
    partition_id bigint not null,
    key bytea not null,
    transaction_id text not null,
    consumer_group text not null,
    event_type text not null,
    data text not null,
    names text[] not null,
    worker text not null,
    created_at timestamptz not null
);
-- In the order in which the notes of a message are shown: of many only the first are read.
create index traces_partition_id_key_created_at_idx on queen_store.traces (
    partition_id, key, created_at, id);
-- What the purge of a tenant looks for.
create index traces_tenant_id_idx on queen_store.traces (tenant_id);
-- What is removed for its age, where there is a bound.
create index traces_created_at_idx on queen_store.traces (created_at);

comment on table queen_store.traces is
    'What applications noted about messages: one row per note, never changed, kept for QUEEN_TRACE_RETENTION_DAYS or for ever.';
comment on column queen_store.traces.id is 'A UUIDv7 that the broker made.';
comment on column queen_store.traces.tenant_id is 'Owner of the queue.';
comment on column queen_store.traces.queue is 'Name the queue had.';
comment on column queen_store.traces.partition is 'Name the partition had.';
comment on column queen_store.traces.partition_id is 'Lane of the message; it may be gone.';
comment on column queen_store.traces.key is 'Identity of the transactionId: queen_store.key_of(transaction_id).';
comment on column queen_store.traces.transaction_id is 'transactionId of the message, which need not exist.';
comment on column queen_store.traces.consumer_group is 'Group that noted it; __QUEUE_MODE__ where none was named.';
comment on column queen_store.traces.event_type is 'What kind of note it is, in the words of the application.';
comment on column queen_store.traces.data is 'The note: JSON, character by character as it was sent.';
comment on column queen_store.traces.names is 'Names it can be found by, each with a row of trace_names.';
comment on column queen_store.traces.worker is 'Broker that stored it: its QUEEN_SERVER_ID, else the name of its host.';
comment on column queen_store.traces.created_at is 'When it was stored.';

create table queen_store.trace_names (
    tenant_id uuid not null,
    name text not null check (octet_length(name) between 1 and 1024),
    created_at timestamptz not null,
    trace_id uuid not null,
    primary key (tenant_id, name, created_at, trace_id)
);

comment on table queen_store.trace_names is 'Traces by the names that applications gave them, in order of time.';
comment on column queen_store.trace_names.tenant_id is 'Owner of the queue.';
comment on column queen_store.trace_names.name is 'Name; 1 to 1,024 bytes.';
comment on column queen_store.trace_names.created_at is 'created_at of the trace.';
comment on column queen_store.trace_names.trace_id is 'Trace.';
