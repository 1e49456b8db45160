-- queen.violations: the invariants of the log, as a question that tests and operators ask.

-- queen_store.segment_violations: broken invariants of the segments of one lane: ranges that
-- overlap or leave a gap, time that falls, keys and frames that do not match their number.
-- Called by  queen.violations
-- Locks      none
-- Returns    no row = all is well from p_from to p_to
-- Cost       1 statement; decodes every segment of the range
create or replace function queen_store.segment_violations(
    p_partition_id bigint, p_from bigint, p_to bigint)
returns table (rule text, "offset" bigint, detail text)
language plpgsql stable parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with segment as materialized (
        select s.epoch, s.base_offset, s.end_offset, s.created_at,
               octet_length(s.keys) as key_bytes, s.frames is null as expired,
               lag(s.end_offset) over walk as previous_end,
               lag(s.created_at) over walk as previous_created_at
        from queen_store.segments s
        where s.partition_id = p_partition_id and s.base_offset >= p_from and s.base_offset <= p_to
        window walk as (order by s.base_offset, s.epoch)),
    directory as (
        select s.base_offset, f.count, f.bytes, e.inverted
        from queen_store.segments s
        cross join lateral (
            select (s.end_offset - s.base_offset + 1)::integer as count,
                   octet_length(s.frames) as bytes, s.frames || ''::bytea as frames offset 0) f
        cross join lateral (
            select coalesce(bool_or(x.stop <= x.start or x.stop > f.bytes - f.count * 4), false)
                       or coalesce(max(x.stop), 0) <> f.bytes - f.count * 4 as inverted
            from (
                select queen_store.frame_end(f.frames, n.position) as stop,
                       case when n.position = 0 then 0
                            else queen_store.frame_end(f.frames, n.position - 1)
                       end as start
                from generate_series(0, f.count - 1) as n (position)
                where f.count * 4 <= f.bytes) x) e
        where s.partition_id = p_partition_id and s.base_offset >= p_from and s.base_offset <= p_to
          and s.end_offset >= s.base_offset and s.frames is not null),
    message as (
        select d."offset", d.transaction_id, d.key, d.flags, d.payload
        from queen_store.segments s
        cross join lateral queen_store.decode_segment(
            s.partition_id, s.base_offset, s.created_at, s.keys, s.frames) d
        where s.partition_id = p_partition_id and s.base_offset >= p_from and s.base_offset <= p_to
          and s.frames is not null
          and s.base_offset in (select g.base_offset from directory g where not g.inverted))
    select 'range_inverted', s.base_offset,
           format('segment ends at %s, before it begins', s.end_offset)
    from segment s where s.end_offset < s.base_offset
    union all
    select 'ranges_overlap', s.base_offset, format('the segment before ends at %s', s.previous_end)
    from segment s where s.base_offset <= s.previous_end
    union all
    select 'gap', s.base_offset, format('the segment before ends at %s', s.previous_end)
    from segment s where s.base_offset > s.previous_end + 1
    union all
    select 'created_at_falls', s.base_offset,
           format('created_at %s, the segment before %s', s.created_at, s.previous_created_at)
    from segment s where s.created_at < s.previous_created_at
    union all
    select 'keys_length', s.base_offset,
           format('%s bytes of keys for %s messages',
               s.key_bytes, s.end_offset - s.base_offset + 1)
    from segment s where s.key_bytes <> (s.end_offset - s.base_offset + 1) * 16
    union all
    select 'frames_directory', g.base_offset,
           format('%s messages in %s bytes of frames: end offsets do not rise to the end',
               g.count, g.bytes)
    from directory g where g.inverted
    union all
    select 'frame', m."offset", format('flags %s: the parts of the message do not fit', m.flags)
    from message m where m.payload is null or m.flags & 128 > 0
    union all
    select 'key', m."offset",
           format('key %s is not that of transaction id %s',
               encode(m.key, 'hex'), coalesce(m.transaction_id, 'null'))
    from message m
    where m.payload is not null and m.flags & 128 = 0
      and queen_store.key_of(m.transaction_id) is distinct from m.key;
end
$$;

comment on function queen_store.segment_violations(bigint, bigint, bigint) is
    'Broken invariants of the segments of one lane within a range of offsets. Locks: none.';

-- queen_store.lane_violations: broken invariants between the row of a lane and its first and last
-- segment.
-- Called by  queen.violations
-- Locks      none
-- Returns    no row = all is well
-- Cost       1 statement, a few index probes
create or replace function queen_store.lane_violations(p_partition_id bigint)
returns table (rule text, "offset" bigint, detail text)
language plpgsql stable parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with lane as (
        select p.*, f.base_offset as first_base, f.created_at as first_created_at,
               n.end_offset as newest_end, n.created_at as newest_created_at
        from queen_store.partitions p
        left join lateral (
            select s.base_offset, s.created_at
            from queen_store.segments s
            where s.partition_id = p.id and s.base_offset >= p.log_start
            order by s.base_offset
            limit 1) f on true
        left join lateral (
            select s.end_offset, s.created_at
            from queen_store.segments s
            where s.partition_id = p.id
            order by s.base_offset desc
            limit 1) n on true
        where p.id = p_partition_id)
    select 'log_start', l.log_start,
           format('first segment kept begins at %s, last_offset is %s',
               coalesce(l.first_base::text, 'none'), l.last_offset)
    from lane l
    where l.log_start <> coalesce(l.first_base, l.last_offset + 1)
    union all
    select 'last_offset', l.last_offset,
           format('newest segment ends at %s', coalesce(l.newest_end::text, 'none'))
    from lane l
    where l.newest_end > l.last_offset
       or (l.log_start <= l.last_offset and l.newest_end is distinct from l.last_offset)
    union all
    select 'last_created_at', l.last_offset,
           format('last_created_at %s, newest segment %s', l.last_created_at, l.newest_created_at)
    from lane l
    where l.newest_created_at > coalesce(l.last_created_at, '-infinity')
    union all
    select 'last_write_at', l.last_offset,
           format('last_write_at %s, newest segment %s', l.last_write_at, l.newest_created_at)
    from lane l
    where l.newest_created_at > l.last_write_at + interval '1 second'
    union all
    select 'oldest_live_at', l.log_start,
           format('oldest_live_at %s, first segment kept %s',
               l.oldest_live_at, l.first_created_at)
    from lane l
    where l.oldest_live_at is distinct from l.first_created_at;
end
$$;

comment on function queen_store.lane_violations(bigint) is
    'Broken invariants between the row of a lane and its first and last segment. Locks: none.';

-- queen_store.cursor_violations: broken invariants of the cursors, leases and dead letters of a
-- lane.
-- Called by  queen.violations
-- Locks      none
-- Returns    no row = all is well
-- Cost       1 statement over the cursors of the lane
create or replace function queen_store.cursor_violations(p_partition_id bigint)
returns table (rule text, "offset" bigint, detail text)
language plpgsql stable parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with cursor as (
        select c.*, p.last_offset, format('group %s', coalesce(g.name, c.group_id::text)) as who,
               queen_store.lease_number(c.lease_id) as lease_number, n.epoch as next_epoch
        from queen_store.cursors c
        join queen_store.partitions p on p.id = c.partition_id
        left join queen_store.groups g on g.id = c.group_id
        left join lateral (
            select s.epoch
            from queen_store.segments s
            where s.partition_id = c.partition_id and s.end_offset > c.committed
              and s.base_offset >= coalesce((
                  select h.base_offset
                  from queen_store.segments h
                  where h.partition_id = c.partition_id and h.base_offset <= c.committed + 1
                  order by h.base_offset desc
                  limit 1), 0)
            order by s.base_offset
            limit 1) n on true
        where c.partition_id = p_partition_id
          and (g.id is null or g.generation = c.generation))
    select 'cursor_without_group', c.committed, c.who
    from cursor c
    where not exists (select from queen_store.groups g where g.id = c.group_id)
    union all
    select 'cursor_beyond_end', c.committed,
           format('%s: committed %s, last_offset %s', c.who, c.committed, c.last_offset)
    from cursor c where c.committed > c.last_offset or c.committed < -1
    union all
    select 'cursor_epoch', c.committed,
           format('%s: epoch %s, but the next message is in epoch %s',
               c.who, c.epoch, c.next_epoch)
    from cursor c where c.next_epoch < c.epoch
    union all
    select 'lease_range', c.committed,
           format('%s: batch_end %s, committed %s, last_offset %s',
               c.who, c.batch_end, c.committed, c.last_offset)
    from cursor c where c.batch_end <= c.committed or c.batch_end > c.last_offset
    union all
    select 'lease_incomplete', c.committed,
           format('%s: lease_id, batch_end and lease_expires_at stand or fall together', c.who)
    from cursor c
    where num_nulls(c.lease_id, c.batch_end, c.lease_expires_at) not in (0, 3)
    union all
    select 'lease_number', c.committed,
           format('%s: lease %s names lane %s', c.who, c.lease_id,
               coalesce(c.lease_number::text, 'none'))
    from cursor c
    where c.lease_id is not null and c.lease_number is distinct from c.partition_id
      and c.lease_number is distinct from 0
    union all
    select 'lease_row', c.committed, format('%s: no row of leases lists %s', c.who, c.lease_id)
    from cursor c
    where c.lease_number = 0 and c.lease_expires_at > clock_timestamp()
      and not exists (
          select from queen_store.leases l
          where l.lease_id = c.lease_id and c.partition_id = any (l.partition_ids))
    union all
    select 'retry_count', c.committed, format('%s: retry_count %s', c.who, c.retry_count)
    from cursor c where c.retry_count < 0 or c.attempt_count < 0
    union all
    select 'dead_letter_beyond_end', d."offset",
           format('dead letter %s of group %s', d.id, d.group_name)
    from queen_store.dead_letters d
    join queen_store.partitions p on p.id = d.partition_id
    where d.partition_id = p_partition_id and d."offset" > p.last_offset;
end
$$;

comment on function queen_store.cursor_violations(bigint) is
    'Broken invariants of the cursors, leases and dead letters of a lane. Locks: none.';

-- queen.violations: which invariants are broken in one partition. Checks the segments that begin
-- within a range of offsets, and the lane's own row, cursors and leases always.
-- Called by  applications, people, tests after every fault
-- Locks      none
-- Returns    one row per finding; no row = all is well
-- Raises     QN400 bad_request, QN404 not_found
-- Cost       decodes the segments of the range: some 2 us per message
create or replace function queen.violations(
    p_queue text, p_partition text, p_from_offset bigint default 0,
    p_to_offset bigint default 9223372036854775807,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (rule text, "offset" bigint, detail text)
language plpgsql stable parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_lane bigint;
    v_from bigint;
begin
    perform queen_store.require_number('from offset', p_from_offset, 0, 9223372036854775807);
    perform queen_store.require_number(
        'to offset', p_to_offset, p_from_offset, 9223372036854775807);
    select l.partition_id, greatest(p_from_offset, l.log_start) into v_lane, v_from
    from queen_store.require_lane(p_tenant, p_queue, p_partition) l;
    return query
    select * from queen_store.segment_violations(v_lane, v_from, p_to_offset)
    union all
    select * from queen_store.lane_violations(v_lane)
    union all
    select * from queen_store.cursor_violations(v_lane);
end
$$;

comment on function queen.violations(text, text, bigint, bigint, uuid) is
    'Which invariants are broken in one partition; no row = all is well. Locks: none.';
