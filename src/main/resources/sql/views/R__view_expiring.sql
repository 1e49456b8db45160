-- What will retention take next? One row per queue that has a rule and keeps something: the
-- partition that is looked at first. queen.expiring_in has more of one queue.
create or replace view queen.expiring as
select
    q.name as queue,
    p.name as partition,
    p.from_at + make_interval(secs => q.expiry_seconds) as due_at,
    p.oldest_live_at as oldest_message_at,
    p.expiry_held_at is not null and p.expiry_held_at > p.oldest_live_at as held,
    make_interval(secs => q.expiry_seconds) as age,
    make_interval(secs => q.unread_expiry_seconds) as unread_age,
    q.tenant_id
from queen_store.queues q
cross join lateral (
    select p.name, p.oldest_live_at, p.expiry_held_at,
           greatest(p.oldest_live_at, p.expiry_held_at) as from_at
    from queen_store.partitions p
    where p.queue_id = q.id and p.oldest_live_at is not null
    order by greatest(p.oldest_live_at, p.expiry_held_at)
    limit 1) p
where q.deleted_at is null and q.expiry_seconds is not null;

comment on view queen.expiring is
    'What retention looks at next, one partition per queue that has a rule: order it by due_at.';
comment on column queen.expiring.queue is 'Queue.';
comment on column queen.expiring.partition is 'Partition that is looked at next.';
comment on column queen.expiring.due_at is 'When that is; in the past = by the next run of the job.';
comment on column queen.expiring.oldest_message_at is 'When the oldest message it keeps was pushed.';
comment on column queen.expiring.held is
    'Whether a group that had not read what is old enough kept it when it was last looked at.';
comment on column queen.expiring.age is 'Age at which the first of the rules in force lets a message go.';
comment on column queen.expiring.unread_age is 'Age at which it goes even if nobody has read it; null = never.';
comment on column queen.expiring.tenant_id is 'Owner of the queue.';
