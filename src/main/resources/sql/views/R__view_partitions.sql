-- Which lanes does a queue have, how much is in them, when were they last written?
create or replace view queen.partitions as
select
    q.name as queue,
    p.name as partition,
    queen_store.partition_uuid(p.id) as partition_id,
    p.last_offset,
    p.log_start,
    p.last_offset - p.log_start + 1 as messages,
    p.created_at,
    p.last_write_at,
    p.oldest_live_at,
    q.tenant_id,
    p.id as number
from queen_store.partitions p
join queen_store.queues q on q.id = p.queue_id and q.deleted_at is null;

comment on view queen.partitions is 'Partitions (lanes) of live queues. One row each; filter by queue.';
comment on column queen.partitions.queue is 'Queue.';
comment on column queen.partitions.partition is 'Name within the queue.';
comment on column queen.partitions.partition_id is 'partitionId as clients know it: the number in the form of a UUID.';
comment on column queen.partitions.last_offset is 'Offset of the newest message; -1 = none yet.';
comment on column queen.partitions.log_start is 'Lowest offset still kept.';
comment on column queen.partitions.messages is 'Messages kept, consumed ones included.';
comment on column queen.partitions.created_at is 'When it was made.';
comment on column queen.partitions.last_write_at is 'Last push, exact to one second.';
comment on column queen.partitions.oldest_live_at is 'Push of the oldest message kept; null = nothing is.';
comment on column queen.partitions.tenant_id is 'Owner of the queue.';
comment on column queen.partitions.number is 'Internal number: partition_id in the tables of queen_store.';
