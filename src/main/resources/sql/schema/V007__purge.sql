-- V007: what operators have ordered and background jobs carry out: space to be given back to the
-- disk, tenants to be erased. An order outlives the broker that took it. And what walks over the
-- lanes find out beside the counts.

create table queen_store.reclaims (
    id integer primary key generated always as identity,
    asked_bytes bigint not null check (asked_bytes >= 1),
    patience_seconds integer not null check (patience_seconds between 0 and 86400),
    last_epoch integer not null,
    ordered_at timestamptz not null,
    freed_bytes bigint not null default 0,
    last_event text,
    ended_at timestamptz,
    stopped_by text
) with (fillfactor = 50);
create unique index reclaims_open_idx on queen_store.reclaims ((ended_at is null))
    where ended_at is null;

comment on table queen_store.reclaims is
    'Orders to give bytes of the log back to the disk, one at a time; the last hundred are kept.';
comment on column queen_store.reclaims.id is 'Number of the order.';
comment on column queen_store.reclaims.asked_bytes is 'How much is to become free.';
comment on column queen_store.reclaims.patience_seconds is
    'After so long without progress it ends, and says who was in the way.';
comment on column queen_store.reclaims.last_epoch is
    'The epoch that was open when it was ordered: later ones are none of its business.';
comment on column queen_store.reclaims.ordered_at is 'When it was ordered.';
comment on column queen_store.reclaims.freed_bytes is 'What has become free, less what survivors take.';
comment on column queen_store.reclaims.last_event is 'How it came further last.';
comment on column queen_store.reclaims.ended_at is 'When it came to its end; null = it has not.';
comment on column queen_store.reclaims.stopped_by is
    'Why it is not more; null = it is what was asked for, or it has not ended.';

create table queen_store.purges (
    tenant_id uuid primary key,
    ordered_at timestamptz not null,
    walked_epoch integer,
    walked_partition_id bigint not null default 0,
    walked boolean not null default false,
    queues bigint not null default 0,
    timers bigint not null default 0,
    segments bigint not null default 0,
    others bigint not null default 0,
    worked_at timestamptz,
    done_at timestamptz
) with (fillfactor = 50);

comment on table queen_store.purges is
    'Tenants that are to be erased. A row goes when somebody has been told that it is done.';
comment on column queen_store.purges.tenant_id is 'Tenant.';
comment on column queen_store.purges.ordered_at is 'When it was ordered.';
comment on column queen_store.purges.walked_epoch is
    'Epoch in which segments of lanes that are gone are looked for; null = the first is next.';
comment on column queen_store.purges.walked_partition_id is 'Lane in it up to which, inclusive.';
comment on column queen_store.purges.walked is
    'All epochs have been walked through since the last queue went.';
comment on column queen_store.purges.queues is 'Queues removed so far.';
comment on column queen_store.purges.timers is 'Timers removed so far.';
comment on column queen_store.purges.segments is
    'Segments removed so far, those of lanes that others had left behind included.';
comment on column queen_store.purges.others is
    'Other rows removed so far: keys, lanes, cursors, dead letters, traces, history, quotas.';
comment on column queen_store.purges.worked_at is 'When a step last removed something.';
comment on column queen_store.purges.done_at is
    'When nothing of the tenant was left; null = it is not.';

create table queen_store.liveness (
    queue_id integer primary key,
    live_hour bigint not null,
    live_day bigint not null,
    live_week bigint not null,
    oldest_write_at timestamptz,
    newest_write_at timestamptz,
    leases bigint not null,
    leased_lanes bigint not null,
    walked_at timestamptz not null
) with (fillfactor = 50, vacuum_truncate = off);

comment on table queen_store.liveness is
    'How many lanes of a queue were written of late, or are held by leases, as the last walk over them found; written where that has changed.';
comment on column queen_store.liveness.queue_id is 'Queue.';
comment on column queen_store.liveness.live_hour is 'Lanes written in the hour before the walk.';
comment on column queen_store.liveness.live_day is 'Lanes written in the day before the walk.';
comment on column queen_store.liveness.live_week is 'Lanes written in the seven days before the walk.';
comment on column queen_store.liveness.oldest_write_at is
    'Last write of the lane that has gone longest without one; null = there are no lanes.';
comment on column queen_store.liveness.newest_write_at is 'Last write of any lane.';
comment on column queen_store.liveness.leases is 'Leases that had not run out, one for each lane and group.';
comment on column queen_store.liveness.leased_lanes is 'Lanes with such a lease.';
comment on column queen_store.liveness.walked_at is 'When a walk last found other numbers than before.';
