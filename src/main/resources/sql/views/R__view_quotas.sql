-- What may a tenant keep of keys and timers, and what does it?
create or replace view queen.quotas as
select
    coalesce(q.tenant_id, u.tenant_id) as tenant_id,
    q.enabled,
    q.max_rows,
    coalesce(u.kv_rows, 0) as kv_rows,
    q.max_bytes,
    coalesce(u.kv_bytes, 0) as kv_bytes,
    q.max_timers,
    coalesce(u.timer_rows, 0) as timers,
    coalesce(u.timer_bytes, 0) as timer_bytes,
    q.max_timer_horizon_seconds,
    q.max_reads_per_second,
    q.max_writes_per_second,
    q.changed_at,
    u.measured_at
from queen_store.kv_quotas q
full join queen_store.kv_usage u on u.tenant_id = q.tenant_id;

comment on view queen.quotas is
    'What tenants may do with keys and timers, and what they had when that was last measured.';
comment on column queen.quotas.tenant_id is 'Tenant; 00000000-0000-0000-0000-000000000001 without tenancy.';
comment on column queen.quotas.enabled is 'Whether it may use them at all; null = nobody has said anything of this tenant.';
comment on column queen.quotas.max_rows is 'Keys it may have; null = any number.';
comment on column queen.quotas.kv_rows is 'Keys it has that have not expired.';
comment on column queen.quotas.max_bytes is 'Bytes of values it may have; null = any number.';
comment on column queen.quotas.kv_bytes is 'Bytes of values it has.';
comment on column queen.quotas.max_timers is 'Messages it may have scheduled; null = any number.';
comment on column queen.quotas.timers is 'Messages it has scheduled.';
comment on column queen.quotas.timer_bytes is 'Bytes of their payloads.';
comment on column queen.quotas.max_timer_horizon_seconds is 'How far ahead it may schedule them; null = as the broker allows.';
comment on column queen.quotas.max_reads_per_second is 'Calls that read keys, on each broker; null = as the broker allows.';
comment on column queen.quotas.max_writes_per_second is 'Calls that write keys; null likewise.';
comment on column queen.quotas.changed_at is 'When a quota was last set; null = there is none.';
comment on column queen.quotas.measured_at is 'When it was last measured; null = it never had anything.';
