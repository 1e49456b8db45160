-- For whom is the log kept? The ten queues, partitions and groups with most, by a sample of all
-- epochs: what they have not let go of is what the oldest epochs cannot leave with.
create or replace view queen.storage_pins as
select
    p.kind,
    p.queue,
    p.tenant_id,
    p.partition,
    p.consumer_group,
    p.bytes,
    p.messages,
    p.since,
    p.oldest_epoch
from queen_store.storage_pins(10) p
where p.kind <> 'epoch';

comment on view queen.storage_pins is
    'Queues, partitions and groups for which most of the log is kept, ten of each.';
comment on column queen.storage_pins.kind is 'queue, partition or group.';
comment on column queen.storage_pins.queue is 'Queue.';
comment on column queen.storage_pins.tenant_id is 'Owner of the queue.';
comment on column queen.storage_pins.partition is 'Partition, of kind partition.';
comment on column queen.storage_pins.consumer_group is 'Group, of kind group; it is shown where its queue is one of the hundred with most.';
comment on column queen.storage_pins.bytes is 'What is on disk and alive, an estimate by a sample; of a group what it has not consumed, before compression.';
comment on column queen.storage_pins.messages is 'Messages kept; of a group those it has not consumed; as told.';
comment on column queen.storage_pins.since is 'When the oldest of them was stored; null = not known.';
comment on column queen.storage_pins.oldest_epoch is 'Oldest epoch in which the sample found something alive; null of a group.';
