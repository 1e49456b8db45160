-- V005: what a tenant may keep of keys and timers, and what it was last seen to keep.

-- What operators have said and what was measured are two tables: a measurement never waits for an
-- operator, and no write of a key or a timer touches either of them.
create table queen_store.kv_quotas (
    tenant_id uuid primary key,
    enabled boolean not null,
    max_rows bigint check (max_rows >= 0),
    max_bytes bigint check (max_bytes >= 0),
    max_timers bigint check (max_timers >= 0),
    max_timer_horizon_seconds bigint check (max_timer_horizon_seconds >= 0),
    max_reads_per_second integer check (max_reads_per_second >= 1),
    max_writes_per_second integer check (max_writes_per_second >= 1),
    changed_at timestamptz not null
);

comment on table queen_store.kv_quotas is
    'What a tenant may do with keys and timers. Brokers enforce it, by what they last read and measured.';
comment on column queen_store.kv_quotas.tenant_id is 'Tenant; 00000000-0000-0000-0000-000000000001 without tenancy.';
comment on column queen_store.kv_quotas.enabled is 'Whether it may use keys and schedule messages at all.';
comment on column queen_store.kv_quotas.max_rows is 'Keys it may have; null = any number.';
comment on column queen_store.kv_quotas.max_bytes is 'Bytes of values it may have; null = any number.';
comment on column queen_store.kv_quotas.max_timers is 'Messages it may have scheduled; null = any number.';
comment on column queen_store.kv_quotas.max_timer_horizon_seconds is
    'How far ahead it may schedule them, where that is less than the broker allows; null = as far as that.';
comment on column queen_store.kv_quotas.max_reads_per_second is
    'Calls that only read keys, on each broker; null = what the broker allows.';
comment on column queen_store.kv_quotas.max_writes_per_second is 'The same for calls that write.';
comment on column queen_store.kv_quotas.changed_at is 'When somebody last set it.';

create table queen_store.kv_usage (
    tenant_id uuid primary key,
    kv_rows bigint not null,
    kv_bytes bigint not null,
    timer_rows bigint not null,
    timer_bytes bigint not null,
    measured_at timestamptz not null
) with (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 500
);

comment on table queen_store.kv_usage is
    'What tenants had of keys and timers when that was last measured; who has neither has no row.';
comment on column queen_store.kv_usage.tenant_id is 'Tenant.';
comment on column queen_store.kv_usage.kv_rows is 'Keys that had not expired.';
comment on column queen_store.kv_usage.kv_bytes is 'Bytes of their values.';
comment on column queen_store.kv_usage.timer_rows is 'Scheduled messages.';
comment on column queen_store.kv_usage.timer_bytes is 'Bytes of their payloads.';
comment on column queen_store.kv_usage.measured_at is 'When the measurement began.';
