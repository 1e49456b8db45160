-- Which tenants are being erased, and what is left of them?
create or replace view queen.purges as
select
    p.tenant_id,
    case when p.done_at is not null then 'done' else 'running' end as state,
    queen_store.purge_left(p.tenant_id) as left_over,
    p.queues as queues_removed,
    p.timers as timers_removed,
    p.segments as segments_removed,
    p.others as other_rows_removed,
    p.walked_epoch,
    p.ordered_at,
    p.worked_at,
    p.done_at
from queen_store.purges p;

comment on view queen.purges is
    'Tenants that are to be erased: DELETE /api/v1/resources/tenant. A row goes when that route has said that it is done.';
comment on column queen.purges.tenant_id is 'Tenant.';
comment on column queen.purges.state is 'running or done.';
comment on column queen.purges.left_over is
    'What is next to be removed: timers, queues (to be deleted), lanes (of deleted queues), segments, others (keys, traces, history, quotas), nothing.';
comment on column queen.purges.queues_removed is 'Queues removed so far.';
comment on column queen.purges.timers_removed is 'Timers removed so far.';
comment on column queen.purges.segments_removed is
    'Segments removed so far; those that queues deleted earlier had left behind are among them, whoever owned these.';
comment on column queen.purges.other_rows_removed is 'Other rows removed so far.';
comment on column queen.purges.walked_epoch is
    'Epoch whose segments are looked through; null = none is.';
comment on column queen.purges.ordered_at is 'When it was ordered.';
comment on column queen.purges.worked_at is 'When a step last ended.';
comment on column queen.purges.done_at is 'When nothing was left.';
