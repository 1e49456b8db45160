-- Who holds a lane, so that its pushes wait? A row lock is not in pg_locks, but the row names the
-- transaction that took it last (xmax), and a running transaction holds a lock on its own number.
-- So this shows holders whether or not anybody waits: by a push not committed yet, or by any
-- other statement that locked the row. Reads all lanes. Not seen: a row locked by several
-- transactions at once, which the broker's own functions never do.
create or replace view queen.blocked_partitions as
select
    q.name as queue,
    p.name as partition,
    l.pid,
    a.application_name,
    a.usename as user_name,
    a.client_addr,
    a.state,
    clock_timestamp() - coalesce(a.xact_start, x.prepared) as transaction_age,
    a.query as last_query,
    x.gid as prepared_transaction,
    array(
        select w.pid
        from pg_stat_activity w
        where w.wait_event_type = 'Lock' and l.pid = any (pg_blocking_pids(w.pid))
        order by w.pid) as waiting_pids,
    queen_store.partition_uuid(p.id) as partition_id,
    q.tenant_id
from pg_locks l
join queen_store.partitions p on p.xmax = l.transactionid
join queen_store.queues q on q.id = p.queue_id
left join pg_stat_activity a on a.pid = l.pid
left join pg_prepared_xacts x on x.transaction = l.transactionid
where l.locktype = 'transactionid' and l.mode = 'ExclusiveLock' and l.granted
  and q.deleted_at is null;

comment on view queen.blocked_partitions is
    'Partitions that a running transaction holds, and who that is. A broker holds one for milliseconds; an application for as long as its transaction lasts. Reads all partitions.';
comment on column queen.blocked_partitions.queue is 'Queue.';
comment on column queen.blocked_partitions.partition is 'Partition: its pushes wait, its pops do not.';
comment on column queen.blocked_partitions.pid is 'Holder: pg_terminate_backend(pid) ends it; null = a prepared transaction.';
comment on column queen.blocked_partitions.application_name is 'Of the holder; null where the server hides other sessions from you (grant pg_read_all_stats).';
comment on column queen.blocked_partitions.user_name is 'Role of the holder.';
comment on column queen.blocked_partitions.client_addr is 'Address of the holder; null = the machine of the server.';
comment on column queen.blocked_partitions.state is 'What the holder does; "idle in transaction" is an application that forgot to commit.';
comment on column queen.blocked_partitions.transaction_age is 'How long its transaction has been open, or prepared.';
comment on column queen.blocked_partitions.last_query is 'Its current or last statement, not necessarily the one that took the lock.';
comment on column queen.blocked_partitions.prepared_transaction is 'Name for COMMIT PREPARED or ROLLBACK PREPARED; null = none.';
comment on column queen.blocked_partitions.waiting_pids is 'Sessions that wait for the holder, for this or another lock.';
comment on column queen.blocked_partitions.partition_id is 'partitionId as clients know it.';
comment on column queen.blocked_partitions.tenant_id is 'Owner of the queue.';
