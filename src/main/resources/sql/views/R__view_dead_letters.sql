-- Which messages did a group give up, and why?
create or replace view queen.dead_letters as
select
    q.name as queue,
    p.name as partition,
    d.group_name as consumer_group,
    d."offset",
    d.message_id,
    d.transaction_id,
    d.error,
    d.retry_count,
    queen_store.payload_text(d.flags, d.payload) as payload,
    d.payload as payload_bytes,
    d.flags & 32 > 0 as encrypted,
    d.created_at,
    d.failed_at,
    d.trace_id,
    d.producer,
    queen_store.partition_uuid(d.partition_id) as partition_id,
    d.id,
    q.tenant_id
from queen_store.dead_letters d
join queen_store.queues q on q.id = d.queue_id and q.deleted_at is null
left join queen_store.partitions p on p.id = d.partition_id;

comment on view queen.dead_letters is
    'Messages that consumer groups gave up, each a copy of its own: retention does not remove them. Filter by queue and failed_at.';
comment on column queen.dead_letters.queue is 'Queue.';
comment on column queen.dead_letters.partition is 'Partition; null where it has been cleaned up.';
comment on column queen.dead_letters.consumer_group is 'Group that gave it up.';
comment on column queen.dead_letters."offset" is 'Offset in the partition.';
comment on column queen.dead_letters.message_id is 'Id as delivered.';
comment on column queen.dead_letters.transaction_id is 'transactionId as delivered.';
comment on column queen.dead_letters.error is 'Reason given by the consumer, or "Retries exhausted".';
comment on column queen.dead_letters.retry_count is 'Failed acks that were charged before.';
comment on column queen.dead_letters.payload is 'Payload as text; null where it is encrypted or no JSON text.';
comment on column queen.dead_letters.payload_bytes is 'Payload as stored; null where it had expired before it was given up.';
comment on column queen.dead_letters.encrypted is 'Whether the payload is an encryption envelope.';
comment on column queen.dead_letters.created_at is 'When the message was stored.';
comment on column queen.dead_letters.failed_at is 'When it was given up.';
comment on column queen.dead_letters.trace_id is 'traceId of the push or null.';
comment on column queen.dead_letters.producer is 'Authenticated producer or null.';
comment on column queen.dead_letters.partition_id is 'partitionId as clients know it.';
comment on column queen.dead_letters.id is 'Number of the dead letter.';
comment on column queen.dead_letters.tenant_id is 'Owner of the queue.';
