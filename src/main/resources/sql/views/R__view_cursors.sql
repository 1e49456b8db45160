-- How far is each consumer group in each lane? Lanes a group has not touched yet have no row of
-- their own; where it would begin there is computed as a pop would.
create or replace view queen.cursors as
select
    c.queue,
    c.partition,
    c.consumer_group,
    c.committed,
    c.last_offset,
    c.last_offset - c.committed as lag,
    c.touched,
    c.retry_count,
    c.partition_id,
    c.tenant_id
from (
    select
        q.name as queue,
        p.name as partition,
        g.name as consumer_group,
        queen_store.effective_cursor(p.id, g.id) as committed,
        p.last_offset,
        c.partition_id is not null as touched,
        coalesce(c.retry_count, 0) as retry_count,
        queen_store.partition_uuid(p.id) as partition_id,
        q.tenant_id
    from queen_store.queues q
    join queen_store.groups g on g.queue_id = q.id
    join queen_store.partitions p on p.queue_id = q.id
    left join queen_store.cursors c
        on c.partition_id = p.id and c.group_id = g.id and c.generation = g.generation
    where q.deleted_at is null) c
where c.committed is not null;

comment on view queen.cursors is
    'Position of every consumer group in every partition of its queue: filter by queue or group, each row costs some index probes.';
comment on column queen.cursors.queue is 'Queue.';
comment on column queen.cursors.partition is 'Partition.';
comment on column queen.cursors.consumer_group is 'Group; __QUEUE_MODE__ = pops without a group.';
comment on column queen.cursors.committed is 'Last offset that counts as consumed: the next pop begins behind it.';
comment on column queen.cursors.last_offset is 'Offset of the newest message.';
comment on column queen.cursors.lag is 'Messages not consumed yet, leased ones included.';
comment on column queen.cursors.touched is 'Whether the group has a cursor of its own here; false = computed from where it begins.';
comment on column queen.cursors.retry_count is 'Failed acks charged since the last completed batch.';
comment on column queen.cursors.partition_id is 'partitionId as clients know it.';
comment on column queen.cursors.tenant_id is 'Owner of the queue.';
