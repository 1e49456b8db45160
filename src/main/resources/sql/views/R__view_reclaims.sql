-- Who has asked for space, and how far is it? One row per order, the newest first.
create or replace view queen.reclaims as
select
    r.id as reclaim,
    case
        when r.stopped_by is not null then 'stopped'
        when r.ended_at is not null then 'done'
        when not j.enabled then 'paused'
        when r.last_event is null and r.freed_bytes = 0 then 'ordered'
        else 'running'
    end as state,
    r.asked_bytes,
    r.freed_bytes,
    r.patience_seconds,
    r.ordered_at,
    r.ended_at,
    r.last_event,
    r.stopped_by
from queen_store.reclaims r
left join queen_store.jobs j on j.name = 'epochs'
order by r.id desc;

comment on view queen.reclaims is
    'Orders to give bytes of the log back to the disk: POST /api/v1/system/storage/reclaim.';
comment on column queen.reclaims.reclaim is 'Number of the order.';
comment on column queen.reclaims.state is
    'ordered, running, paused (the job epochs is), done or stopped.';
comment on column queen.reclaims.asked_bytes is 'How much is to become free.';
comment on column queen.reclaims.freed_bytes is 'What has become free, less what survivors take.';
comment on column queen.reclaims.patience_seconds is 'After so long without progress it stops.';
comment on column queen.reclaims.ordered_at is 'When it was ordered.';
comment on column queen.reclaims.ended_at is 'When it came to its end; null = it has not.';
comment on column queen.reclaims.last_event is 'How it came further last.';
comment on column queen.reclaims.stopped_by is 'Why it is not more: who or what was in the way; null = nothing.';
