-- What is in a lane? Decodes segments, so it is for browsing: filter by queue, partition and
-- created_at, which reach the segments before they are decoded. An offset does not; to go to one,
-- use queen.read.
create or replace view queen.messages as
select
    q.name as queue,
    p.name as partition,
    d."offset",
    d.message_id,
    d.transaction_id,
    s.created_at,
    queen_store.payload_text(d.flags, d.payload) as payload,
    d.payload as payload_bytes,
    d.trace_id,
    d.producer,
    d.flags & 32 > 0 as encrypted,
    s.frames is null as expired,
    queen_store.partition_uuid(p.id) as partition_id,
    q.tenant_id
from queen_store.queues q
join queen_store.partitions p on p.queue_id = q.id
join queen_store.segments s on s.partition_id = p.id and s.end_offset >= p.log_start
cross join lateral queen_store.decode_segment(
    p.id, s.base_offset, s.created_at, s.keys, s.frames) d
where q.deleted_at is null and d."offset" >= p.log_start;

comment on view queen.messages is
    'Every message kept, one row each, decoded while you look: filter by queue, partition and created_at. For an offset use queen.read, for a transaction id queen.message.';
comment on column queen.messages.queue is 'Queue.';
comment on column queen.messages.partition is 'Partition.';
comment on column queen.messages."offset" is 'Position in the partition, from 0.';
comment on column queen.messages.message_id is 'Id as delivered.';
comment on column queen.messages.transaction_id is 'transactionId as delivered; null where a text went with its expired payload.';
comment on column queen.messages.created_at is 'When it was stored; never falls as offsets rise.';
comment on column queen.messages.payload is 'Payload as text; null where it is encrypted, no JSON text or expired.';
comment on column queen.messages.payload_bytes is 'Payload as stored, byte for byte; null where it has expired.';
comment on column queen.messages.trace_id is 'traceId of the push or null.';
comment on column queen.messages.producer is 'Authenticated producer or null.';
comment on column queen.messages.encrypted is 'Whether the payload is an encryption envelope.';
comment on column queen.messages.expired is 'Whether the payload is gone and only the identity is left, for deduplication.';
comment on column queen.messages.partition_id is 'partitionId as clients know it.';
comment on column queen.messages.tenant_id is 'Owner of the queue.';
