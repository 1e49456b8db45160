-- Epochs: the log is a row of tables, and appends go to the newest. The next one is built beside
-- the others, opens when everybody can see it, and the one before is sealed when its last writer
-- has ended. One whose rows are all dead leaves as a table: nothing is deleted row by row.

-- queen_store.epoch_work: what there is to do for the epochs now, in this order.
-- Called by  EpochProcedures
-- Locks      none
-- Returns    a row per step: build, open, seal, detach, finalize, drop, evacuate or sweep, and the
--            epoch that it is about; no row = nothing
-- Cost       some 6 statements on the catalogue, and a sample of the oldest epoch and of epoch 0
create or replace function queen_store.epoch_work(
    p_rows_max bigint, p_bytes_max bigint, p_age_seconds bigint, p_epochs_max integer,
    p_live_percent integer, p_now timestamptz)
returns table (step text, epoch integer)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select 'open', e.epoch from queen_store.epochs e where e.state = 'built'
    union all
    select 'build', e.epoch
    from queen_store.epochs e
    where e.state = 'open'
      and queen_store.rotation_due(p_rows_max, p_bytes_max, p_age_seconds, p_epochs_max, p_now)
    union all
    select 'seal', e.epoch
    from queen_store.epochs e
    where e.state = 'closed'
       or (e.state = 'empty'
           and (e.next_after is null or e.next_after > pg_snapshot_xmax(pg_current_snapshot())))
    union all
    select d.step, d.epoch from queen_store.departing_epoch() d where d.step <> 'wait'
    union all
    select 'evacuate', d.epoch
    from queen_store.evacuation_due(p_live_percent, p_rows_max, p_epochs_max, p_now) d (epoch)
    where d.epoch is not null
    union all
    select 'sweep', 0 where queen_store.sweep_due(p_live_percent, p_now);
end
$$;
comment on function queen_store.epoch_work(
    bigint, bigint, bigint, integer, integer, timestamptz) is
    'What there is to do for the epochs now, in this order. Locks: none.';

-- queen_store.rotation_due: whether the open epoch has had its share, and another may follow.
-- Rows count until all epochs are in use: they keep the index that appends go to small. Bytes and
-- age count up to half of them, for they only give space back sooner.
-- Called by  epoch_work
-- Locks      none
-- Returns    false too while the next one is built already
-- Cost       1 statement, and epoch_size
create or replace function queen_store.rotation_due(
    p_rows_max bigint, p_bytes_max bigint, p_age_seconds bigint, p_epochs_max integer,
    p_now timestamptz)
returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    -- Space below this is not worth a table of its own.
    v_worth_bytes constant bigint := 16777216;
begin
    return (
        select not n.built and n.epochs < p_epochs_max
               and (s.rows >= p_rows_max
                    or (n.epochs <= p_epochs_max / 2
                        and (s.bytes >= p_bytes_max
                             or (s.bytes >= v_worth_bytes
                                 and e.opened_at <= p_now - make_interval(secs => p_age_seconds)))))
        from queen_store.epochs e
        cross join lateral queen_store.epoch_size(e.epoch) s
        cross join (
            select count(*) as epochs, bool_or(n.state = 'built') as built
            from queen_store.epochs n) n
        where e.state = 'open');
end
$$;
comment on function queen_store.rotation_due(bigint, bigint, bigint, integer, timestamptz) is
    'Whether the open epoch has had its share, and another may follow. Locks: none.';

-- queen_store.epoch_size: how much is stored in an epoch, as far as statistics know.
-- Called by  rotation_due, evacuation_due, queen.epochs, ReclaimProcedures, epoch_live_bytes,
--            storage_gauges, storage_sample
-- Locks      none
-- Returns    one row; rows are an estimate, bytes are heap, TOAST and index as on disk
-- Cost       1 statement on the catalogue, and the sizes of a few files
create or replace function queen_store.epoch_size(p_epoch integer)
returns table (rows bigint, bytes bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    return query
    select greatest(c.reltuples::bigint, pg_stat_get_live_tuples(c.oid), 0),
           pg_total_relation_size(c.oid)
    from pg_class c
    where c.oid = to_regclass(format('queen_store.segments_%s', p_epoch));
end
$$;
comment on function queen_store.epoch_size(integer) is
    'Rows and bytes of an epoch, as far as statistics know. Locks: none.';

-- queen_store.build_epoch: makes the epoch that follows the open one, which is not written yet.
-- Called by  EpochProcedures
-- Locks      epochs: 0; the table segments, share update exclusive, which stops neither reads nor
--            writes; waits up to 1 s
-- Returns    its number; null = it was there, or p_open is not open any more
-- Cost       build_segments and 3 statements
create or replace function queen_store.build_epoch(p_open integer, p_now timestamptz)
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
declare
    v_epoch integer;
begin
    perform 1 from queen_store.epochs e where e.epoch = 0 for no key update;
    select max(e.epoch) + 1 into v_epoch
    from queen_store.epochs e
    having bool_or(e.epoch = p_open and e.state = 'open') and not bool_or(e.state = 'built');
    if v_epoch is not null then
        perform queen_store.build_segments(p_open, v_epoch);
        insert into queen_store.epochs (epoch, state, opened_at) values (v_epoch, 'built', p_now);
    end if;
    return v_epoch;
end
$$;
comment on function queen_store.build_epoch(integer, timestamptz) is
    'Makes the epoch that follows the open one. Locks: epochs: 0; the table segments, share update exclusive, which stops neither reads nor writes; waits up to 1 s.';

-- queen_store.build_segments: the table of the next epoch, like that of the open one in all its
-- settings, attached to the log.
-- Called by  build_epoch
-- Locks      the table segments, share update exclusive
-- Returns    nothing
-- Cost       5 statements on the catalogue; the new table is empty, so nothing is scanned
create or replace function queen_store.build_segments(p_like integer, p_epoch integer)
returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_model text := format('segments_%s', p_like);
    v_table text := format('segments_%s', p_epoch);
    v_settings text;
begin
    -- Not "partition of": that would lock the log against reads and writes.
    execute format(
        'create table queen_store.%I (like queen_store.%I including all)', v_table, v_model);
    select string_agg(format('%s%s = %L', o.prefix, s.option_name, s.option_value), ', ')
    into v_settings
    from pg_class c
    left join pg_class t on t.oid = c.reltoastrelid
    cross join lateral (values ('', c.reloptions), ('toast.', t.reloptions)) o (prefix, options)
    cross join lateral pg_options_to_table(o.options) s
    where c.oid = format('queen_store.%I', v_model)::regclass;
    if v_settings is not null then
        execute format('alter table queen_store.%I set (%s)', v_table, v_settings);
    end if;
    execute format('comment on table queen_store.%I is %L', v_table,
        format('Segments of epoch %s.', p_epoch));
    execute format(
        'alter table queen_store.segments attach partition queen_store.%I for values in (%s)',
        v_table, p_epoch);
end
$$;
comment on function queen_store.build_segments(integer, integer) is
    'Makes the table of the next epoch, like that of the open one, and attaches it. Locks: the table segments, share update exclusive.';

-- queen_store.open_epoch: lets appends go to the epoch that was built, when everybody knows it.
-- Whoever had the log open before the table was attached may go on without it: would fail to write
-- there and, worse, not see what others write. Who opens the log now learns of it by that lock.
-- Called by  EpochProcedures, when the table was committed
-- Locks      epochs: 0, then the open one, which a push in a REPEATABLE READ transaction holds to
--            its end; waits up to 1 s
-- Returns    whether it is open now; false = call again, some transaction of before has not ended
-- Cost       3 statements, one over pg_locks
create or replace function queen_store.open_epoch(p_now timestamptz)
returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
declare
    v_epoch integer;
    v_known text[];
    v_holders text[];
begin
    perform 1 from queen_store.epochs e where e.epoch = 0 for no key update;
    select e.epoch, e.holders into v_epoch, v_known
    from queen_store.epochs e
    where e.state = 'built';
    if v_epoch is null then
        return false;
    end if;
    -- A prepared transaction has no process and does nothing more.
    select coalesce(array_agg(distinct l.virtualtransaction), '{}') into v_holders
    from pg_locks l
    join pg_database d on d.oid = l.database and d.datname = current_database()
    where l.locktype = 'relation' and l.relation = 'queen_store.segments'::regclass
      and l.pid <> pg_backend_pid()
      and (v_known is null or l.virtualtransaction = any (v_known));
    if v_holders <> '{}' then
        update queen_store.epochs e
        set holders = v_holders
        where e.epoch = v_epoch and v_holders is distinct from v_known;
        return false;
    end if;
    update queen_store.epochs e
    set state = 'closed', closed_at = p_now
    where e.state = 'open';
    update queen_store.epochs e
    set state = 'open', opened_at = p_now, holders = null
    where e.epoch = v_epoch;
    return true;
end
$$;
comment on function queen_store.open_epoch(timestamptz) is
    'Lets appends go to the epoch that was built, when everybody knows it. Locks: epochs: 0, then the open one, which a push in a REPEATABLE READ transaction holds to its end; waits up to 1 s.';

-- queen_store.seal_epochs: lets closed epochs become sealed when nobody can write there any more.
-- An append has its transaction number before it reads which epoch is open, so those that read the
-- closed one have lower numbers than a transaction which begins when the closing has committed.
-- Called by  EpochProcedures, in a transaction of its own
-- Locks      epochs: the closed ones
-- Returns    how many were sealed
-- Cost       2 statements that write nothing without work
create or replace function queen_store.seal_epochs()
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
declare
    v_sealed integer;
begin
    -- One that had its number before may be older than a writer.
    if pg_current_xact_id_if_assigned() is null then
        update queen_store.epochs e
        set next_after = pg_current_xact_id()
        where e.state in ('closed', 'empty')
          -- Or a number of the server that this one was restored from.
          and (e.next_after is null
               or e.next_after > pg_snapshot_xmax(pg_current_snapshot()));
    end if;
    update queen_store.epochs e
    set state = 'sealed', next_after = null
    where e.state = 'closed' and e.next_after <= pg_snapshot_xmin(pg_current_snapshot());
    get diagnostics v_sealed = row_count;
    return v_sealed;
end
$$;
comment on function queen_store.seal_epochs() is
    'Lets closed epochs become sealed when nobody can write there any more. Locks: epochs: the closed ones.';

-- queen_store.departing_epoch: what is next to be done to the oldest empty epoch.
-- Its table may go when no snapshot is left in which its survivors have not moved yet: such a one
-- would find them neither here nor there. Each step is read from the catalogue, so whoever was
-- killed on the way is continued by the next.
-- Called by  epoch_work
-- Locks      none
-- Returns    one row: wait, detach, finalize (a detach was interrupted) or drop; none = no epoch is
--            empty
-- Cost       1 statement
create or replace function queen_store.departing_epoch()
returns table (epoch integer, step text)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select e.epoch,
           case when i.inhrelid is null then 'drop'
                when i.inhdetachpending then 'finalize'
                when e.next_after is null or exists (
                    select
                    from pg_stat_activity a
                    where a.datname = current_database() and a.pid <> pg_backend_pid()
                      -- That asks the log nothing, and may take hours.
                      and a.backend_type is distinct from 'autovacuum worker'
                      and age(a.backend_xmin) > age(e.next_after::xid)) then 'wait'
                else 'detach' end
    from queen_store.epochs e
    left join pg_inherits i
        on i.inhparent = 'queen_store.segments'::regclass
       and i.inhrelid = to_regclass(format('queen_store.segments_%s', e.epoch))
    where e.state = 'empty'
    order by e.epoch
    limit 1;
end
$$;
comment on function queen_store.departing_epoch() is
    'What is next to be done to the oldest empty epoch: wait, detach, finalize or drop. Locks: none.';

-- queen_store.drop_epoch: removes an empty epoch whose table has been detached.
-- Called by  EpochProcedures
-- Locks      epochs: its row; its table, access exclusive; waits up to 3 s
-- Returns    whether it was there to be removed
-- Cost       3 statements; the files go at the commit
create or replace function queen_store.drop_epoch(p_epoch integer)
returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
-- Longer than a vacuum takes to notice that somebody waits for it (deadlock_timeout).
set lock_timeout = '3s'
as $$
begin
    perform 1
    from queen_store.epochs e
    where e.epoch = p_epoch and e.state = 'empty'
      and not exists (
          select
          from pg_inherits i
          where i.inhrelid = to_regclass(format('queen_store.segments_%s', p_epoch)))
    for update;
    if not found then
        return false;
    end if;
    execute format('drop table if exists queen_store.%I', format('segments_%s', p_epoch));
    delete from queen_store.epochs e where e.epoch = p_epoch;
    return true;
end
$$;
comment on function queen_store.drop_epoch(integer) is
    'Removes an empty epoch whose table has been detached. Locks: epochs: its row; its table, access exclusive; waits up to 3 s.';

-- queen_store.epoch_waits_for: which transaction holds an epoch up, the oldest of them.
-- Called by  queen.epochs, stuck, ReclaimProcedures
-- Locks      none
-- Returns    a sentence with pid, application_name and age; null = nothing does. Of other roles'
--            sessions only those are seen that the caller may see (pg_read_all_stats)
-- Cost       1 statement over pg_locks and pg_stat_activity
create or replace function queen_store.epoch_waits_for(p_epoch integer)
returns text
language plpgsql stable parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
    return (
        select h.sentence
        from (
            select format('pid %s (%s), %s, transaction open for %s s', a.pid,
                       coalesce(nullif(a.application_name, ''), 'no application_name'), a.state,
                       extract(epoch from clock_timestamp() - a.xact_start)::bigint) as sentence,
                   a.xact_start as since
            from queen_store.epochs e
            cross join pg_stat_activity a
            where e.epoch = p_epoch and a.datname = current_database()
              and a.pid <> pg_backend_pid()
              and case e.state
                  when 'closed' then age(a.backend_xid) > age(e.next_after::xid)
                  when 'empty' then
                      age(a.backend_xmin) > age(e.next_after::xid)
                      or exists (
                          select
                          from pg_locks l
                          where l.pid = a.pid and l.locktype = 'relation' and l.relation in (
                              'queen_store.segments'::regclass,
                              to_regclass(format('queen_store.segments_%s', e.epoch))))
                  when 'built' then exists (
                      select
                      from pg_locks l
                      where l.pid = a.pid and l.virtualtransaction = any (e.holders))
                  end
            union all
            select format('prepared transaction %s, for %s s', x.gid,
                       extract(epoch from clock_timestamp() - x.prepared)::bigint),
                   x.prepared
            from queen_store.epochs e
            cross join pg_prepared_xacts x
            where e.epoch = p_epoch and e.state = 'closed' and x.database = current_database()
              and age(x.transaction) > age(e.next_after::xid)) h
        order by h.since
        limit 1);
end
$$;
comment on function queen_store.epoch_waits_for(integer) is
    'Which transaction holds an epoch up: pid, application_name and age of the oldest. Locks: none.';
