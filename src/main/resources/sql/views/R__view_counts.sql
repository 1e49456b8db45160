-- How much does each queue hold, and how far behind is each consumer group? Kept up to date without
-- looking at partitions, so this is cheap however many there are.
create or replace view queen.counts as
select
    q.name as queue,
    g.name as consumer_group,
    t.lanes as partitions,
    t.messages,
    t.pending,
    t.processing,
    t.completed,
    t.dead_letters,
    t.behind as partitions_behind,
    t.retained_bytes,
    t.disk_bytes,
    t.age_seconds,
    q.tenant_id
from queen_store.told_counts(array(select q.id from queen_store.queues q)) t
join queen_store.queues q on q.id = t.queue_id
left join queen_store.groups g on g.id = t.group_id;

comment on view queen.counts is
    'Messages per queue (consumer_group is null) and per consumer group of it, as counted by the brokers: some seconds old, and proved by a walk over the partitions every ten minutes.';
comment on column queen.counts.queue is 'Queue.';
comment on column queen.counts.consumer_group is
    'Group; __QUEUE_MODE__ = pops without a group, null = the queue itself.';
comment on column queen.counts.partitions is
    'Partitions of the queue; of a group, those in which it has a cursor of its own, as the last walk found.';
comment on column queen.counts.messages is 'Messages kept, consumed ones included.';
comment on column queen.counts.pending is
    'Messages not consumed yet, leased ones included. Null for a group that was never registered and pops single partitions only; of the queue, those of its slowest group, pops without one included once they have acknowledged something, else all.';
comment on column queen.counts.processing is
    'Of these, messages under a lease. A lease that ran out counts until somebody else takes the partition, or for ten minutes and until the next walk.';
comment on column queen.counts.completed is 'Messages kept that are neither pending nor dead letters.';
comment on column queen.counts.dead_letters is 'Dead letters of the group, or of all groups of the queue.';
comment on column queen.counts.partitions_behind is
    'Partitions that held something pending, of the queue anything at all, when a walk last looked.';
comment on column queen.counts.retained_bytes is
    'Of the queue: bytes of the messages kept, before compression; an estimate within the oldest epoch they reach into.';
comment on column queen.counts.disk_bytes is
    'Of the queue: the same with what has expired but is still there, since epochs leave as a whole.';
comment on column queen.counts.age_seconds is
    'Age of the numbers; -1 = a group was moved or made, and a walk has yet to find out where it is.';
comment on column queen.counts.tenant_id is 'Owner of the queue.';
