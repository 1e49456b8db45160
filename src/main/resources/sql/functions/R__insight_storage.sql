-- What metrics show of the log: how large it is, and what keeps it from shrinking.

-- queen_store.storage_gauges: how large the log is, and what keeps it from shrinking.
-- Called by  StorageReads
-- Locks      none
-- Returns    one row. live_bytes and expired_bytes are together what the epochs take on disk,
--            divided as what queues have stored there is, before compression. xmin_age is since
--            when, and by how many transactions, the oldest snapshot holds dead rows back,
--            xmin_holder whose that is: of a replication slot or a standby the time is not known,
--            and null = nothing does. Sessions that the server hides from the caller are not seen
--            (pg_read_all_stats). safe_time_behind_seconds is how old the newest message is that a
--            connector would be let to take for seen
-- Cost       5 statements: the sizes of the epochs, one row per queue and epoch, and the sessions
--            and locks of the server
create or replace function queen_store.storage_gauges()
returns table (
    epochs integer, seal_blocked_seconds double precision, live_bytes bigint,
    expired_bytes bigint, xmin_age_seconds double precision, xmin_age_transactions bigint,
    xmin_holder text, lane_holders integer, safe_time_behind_seconds double precision)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
    v_epochs integer;
    v_blocked double precision;
    v_disk bigint;
    v_stored numeric;
    v_kept numeric;
    v_live bigint;
    v_age double precision;
    v_transactions bigint;
    v_holder text;
    v_holders integer;
    v_behind double precision;
begin
    select count(*),
           coalesce(max(extract(epoch from clock_timestamp() - e.closed_at))
                        filter (where e.state = 'closed'), 0),
           coalesce(sum(s.bytes), 0)
    into v_epochs, v_blocked, v_disk
    from queen_store.epochs e
    left join lateral queen_store.epoch_size(e.epoch) s on true;

    -- As queen_store.stored_bytes does it for one queue: what is kept are the newest messages.
    select coalesce(sum(s.bytes), 0),
           coalesce(sum(case when s.messages > 0
                             then s.bytes * least(1, greatest(0,
                                 (s.kept - s.newer)::numeric / s.messages)) end), 0)
    into v_stored, v_kept
    from (
        select b.messages, b.bytes, coalesce(c.stored - c.passed, 0) as kept,
               coalesce(sum(b.messages) over (
                   partition by b.queue_id order by b.epoch desc
                   rows between unbounded preceding and 1 preceding), 0) as newer
        from queen_store.queue_epochs b
        join queen_store.epochs e on e.epoch = b.epoch
        left join queen_store.queues q on q.id = b.queue_id and q.deleted_at is null
        left join queen_store.counts c on c.queue_id = q.id and c.group_id = 0) s;
    v_live := case when v_stored > 0 then round(v_disk * v_kept / v_stored) else v_disk end;

    with held as materialized (
        select a.xact_start as since,
               greatest(age(a.backend_xmin), age(a.backend_xid))::bigint as transactions,
               format('pid %s (%s)', a.pid,
                   coalesce(nullif(a.application_name, ''), 'no application_name')) as holder
        from pg_stat_activity a
        where (a.backend_xmin is not null or a.backend_xid is not null)
          and a.pid <> pg_backend_pid()
          and (a.datname = current_database() or a.backend_type = 'walsender')
          -- A vacuum does not hold another one back.
          and a.backend_type <> 'autovacuum worker'
        union all
        select x.prepared, age(x.transaction)::bigint, format('prepared transaction %s', x.gid)
        from pg_prepared_xacts x
        where x.database = current_database()
        union all
        select null, age(r.xmin)::bigint, format('replication slot %s', r.slot_name)
        from pg_replication_slots r
        where r.xmin is not null
    )
    select (select max(extract(epoch from clock_timestamp() - h.since)) from held h),
           h.transactions, h.holder
    into v_age, v_transactions, v_holder
    from held h
    order by h.transactions desc
    limit 1;

    select count(*) into v_holders from queen_store.lane_holders(interval '1 second');
    select extract(epoch from clock_timestamp() - s.safe_at)
    into v_behind
    from queen_store.safe_time() s;

    return query
    select v_epochs, v_blocked, v_live, v_disk - v_live, v_age, v_transactions, v_holder,
           v_holders, v_behind;
end
$$;
comment on function queen_store.storage_gauges() is
    'How large the log is, and what keeps it from shrinking. Locks: none.';
