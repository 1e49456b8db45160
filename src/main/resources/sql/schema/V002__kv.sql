-- V002: key/value. State that consumers and producers share, written alone, in a batch, or in the
-- same commit as pushes and acknowledgements.

-- Versions are compared for equality only, so brokers' sessions may take them in blocks.
create sequence queen_store.kv_versions as bigint cache 1000;
comment on sequence queen_store.kv_versions is
    'Versions of keys: unique, and without an order among sessions.';

-- Whoever guards something outside by a token relies on its growth from holder to holder: one by
-- one, and drawn under the lock of the row.
create sequence queen_store.lock_tokens as bigint cache 1;
comment on sequence queen_store.lock_tokens is
    'Versions in namespace queen-locks: fencing tokens, which grow from one holder of a lock to the next.';

-- Keys compare by their bytes: two servers whose languages sort differently would lock rows in
-- different orders. The value is the text of a JSON value as it came; jsonb would lose digits and
-- names, and the size of a text is known without reading it. There are no check constraints, as on
-- partitions: brokers and the SQL API check what they pass on.
create table queen_store.kv (
    tenant_id uuid not null,
    namespace text collate "C" not null,
    key text collate "C" not null,
    value text not null,
    version bigint not null,
    expires_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    -- What the index has: a time to live that is renewed moves it once a minute, so that most
    -- renewals leave all indexes as they are.
    expiry_minute timestamptz generated always as (
        date_bin('1 minute', expires_at, '2000-01-01 00:00:00+00')) stored,
    primary key (tenant_id, namespace, key)
) with (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_insert_scale_factor = 0.2,
    autovacuum_vacuum_cost_delay = 0,
    vacuum_truncate = off
);
-- What the pruning looks for: keys that have a time to live, in the order of their ends.
create index kv_expiry_minute_idx on queen_store.kv (expiry_minute)
    where expiry_minute is not null;

comment on table queen_store.kv is
    'One row per key. A row whose expires_at has come is absent to every reader, until a job removes it; a delete only sets it.';
comment on column queen_store.kv.tenant_id is 'Owner; 00000000-0000-0000-0000-000000000001 without tenancy.';
comment on column queen_store.kv.namespace is
    'Set of keys of one purpose; in queen-locks keys are locks, and versions fencing tokens.';
comment on column queen_store.kv.key is 'Key, unique in its namespace; up to 512 bytes.';
comment on column queen_store.kv.value is 'JSON, byte for byte as it was written.';
comment on column queen_store.kv.version is 'Changes with every write and never comes back; only equality means something.';
comment on column queen_store.kv.expires_at is 'From then on the key is absent; null = never, -infinity = it was deleted.';
comment on column queen_store.kv.expiry_minute is 'Minute in which that is; when it is over the row is removed.';
comment on column queen_store.kv.created_at is 'When the key came to be, after it was absent.';
comment on column queen_store.kv.updated_at is 'When value and version were last written.';

-- The answer to a transaction may be lost; what its keys said cannot be found out from the keys,
-- which others may have written since.
alter table queen_store.bundles
    add column kv_verdicts text[],
    add column kv_versions bigint[],
    add column kv_values text[],
    add column kv_expires_at timestamptz[],
    add column kv_updated_at timestamptz[];
comment on column queen_store.bundles.kv_verdicts is
    'What became of each key/value operation of the bundle; null = it had none.';
comment on column queen_store.bundles.kv_versions is 'Version that each of them answered.';
comment on column queen_store.bundles.kv_values is
    'Value that each of them answered, where it is not the one that was written.';
comment on column queen_store.bundles.kv_expires_at is 'End that each of them answered.';
comment on column queen_store.bundles.kv_updated_at is 'Time of writing that each of them answered.';

create table queen_store.switches (
    name text primary key,
    enabled boolean not null,
    changed_at timestamptz not null
);

comment on table queen_store.switches is
    'What operators have switched off while the brokers run; what has no row is on.';
comment on column queen_store.switches.name is 'kv, timers_schedule, timers_fire or pop.';
comment on column queen_store.switches.enabled is 'Whether it may be used.';
comment on column queen_store.switches.changed_at is 'When somebody last set it.';
