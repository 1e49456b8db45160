-- Which partitions wait longest to be read, by which group? The candidates are those that the last
-- walk found, up to 100 per group; what is shown of them is how they are now.
create or replace view queen.lagging_partitions as
select
    q.name as queue,
    g.name as consumer_group,
    p.name as partition,
    p.last_offset - e.committed as lag,
    f.oldest_unread_at,
    queen_store.partition_uuid(p.id) as partition_id,
    q.tenant_id
from queen_store.oldest_lanes o
join queen_store.groups g on g.id = o.group_id
join queen_store.queues q on q.id = g.queue_id and q.deleted_at is null
join queen_store.partitions p on p.id = o.partition_id
cross join lateral (
    select queen_store.effective_cursor(p.id, g.id) as committed
    offset 0) e
cross join lateral (
    select queen_store.first_created_at(p.id, 0, e.committed + 1) as oldest_unread_at
    offset 0) f
where p.last_offset > e.committed;

comment on view queen.lagging_partitions is
    'Up to 100 partitions per consumer group that have waited longest to be read: found by the last walk, shown as they are now.';
comment on column queen.lagging_partitions.queue is 'Queue.';
comment on column queen.lagging_partitions.consumer_group is 'Group; __QUEUE_MODE__ = pops without a group.';
comment on column queen.lagging_partitions.partition is 'Partition.';
comment on column queen.lagging_partitions.lag is 'Messages not consumed yet, leased ones included.';
comment on column queen.lagging_partitions.oldest_unread_at is 'When the oldest of them was pushed.';
comment on column queen.lagging_partitions.partition_id is 'partitionId as clients know it.';
comment on column queen.lagging_partitions.tenant_id is 'Owner of the queue.';
