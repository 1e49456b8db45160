-- A queue of rows: what most people build in PostgreSQL, in the manner of pgmq. One row per message,
-- taken with "for update skip locked" and hidden for a while, deleted when it is done. No lanes, no
-- groups, no deduplication.

create schema rows_queue;

create table rows_queue.messages (
    id bigint generated always as identity primary key,
    read_count integer not null default 0,
    enqueued_at timestamptz not null default clock_timestamp(),
    visible_at timestamptz not null,
    message jsonb not null
);
create index messages_visible_at_idx on rows_queue.messages (visible_at);

create function rows_queue.send(p_message jsonb)
returns bigint
language sql
as $$
insert into rows_queue.messages (visible_at, message)
values (clock_timestamp(), p_message)
returning id
$$;

create function rows_queue.send_batch(p_messages jsonb[])
returns setof bigint
language sql
as $$
insert into rows_queue.messages (visible_at, message)
select clock_timestamp(), unnest(p_messages)
returning id
$$;

create function rows_queue.read(p_hidden_seconds integer, p_limit integer)
returns table (id bigint, message jsonb)
language sql
as $$
with taken as (
    select m.id
    from rows_queue.messages m
    where m.visible_at <= clock_timestamp()
    order by m.id
    limit p_limit
    for update skip locked
)
update rows_queue.messages m
set visible_at = clock_timestamp() + make_interval(secs => p_hidden_seconds),
    read_count = m.read_count + 1
from taken t
where m.id = t.id
returning m.id, m.message
$$;

create function rows_queue.remove(p_ids bigint[])
returns bigint
language sql
as $$
with gone as (
    delete from rows_queue.messages m where m.id = any (p_ids) returning 1
)
select count(*) from gone
$$;
