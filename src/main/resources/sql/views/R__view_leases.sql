-- Who is working on what right now?
create or replace view queen.leases as
select
    q.name as queue,
    p.name as partition,
    g.name as consumer_group,
    c.lease_id,
    c.committed + 1 as first_offset,
    c.batch_end as last_offset,
    c.lease_expires_at,
    c.lease_expires_at <= clock_timestamp() as expired,
    c.attempt_count as delivery_attempt,
    c.retry_count,
    queen_store.partition_uuid(p.id) as partition_id,
    q.tenant_id
from queen_store.cursors c
join queen_store.groups g on g.id = c.group_id and g.generation = c.generation
join queen_store.partitions p on p.id = c.partition_id
join queen_store.queues q on q.id = p.queue_id and q.deleted_at is null
where c.lease_id is not null;

comment on view queen.leases is
    'Batches that were delivered and not acknowledged yet. Reads every cursor; for one partition filter queen_store.cursors by its number.';
comment on column queen.leases.queue is 'Queue.';
comment on column queen.leases.partition is 'Partition.';
comment on column queen.leases.consumer_group is 'Group.';
comment on column queen.leases.lease_id is 'Lease, as the consumer knows it.';
comment on column queen.leases.first_offset is 'First offset of the batch not acknowledged yet.';
comment on column queen.leases.last_offset is 'Last offset of the batch.';
comment on column queen.leases.lease_expires_at is 'From then on another consumer may take the partition.';
comment on column queen.leases.expired is 'Whether that time has come; the next pop takes the batch again.';
comment on column queen.leases.delivery_attempt is 'How often its first message was delivered.';
comment on column queen.leases.retry_count is 'Failed acks charged since the last completed batch.';
comment on column queen.leases.partition_id is 'partitionId as clients know it.';
comment on column queen.leases.tenant_id is 'Owner of the queue.';
