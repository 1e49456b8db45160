-- What does each function do, what does it lock, what does it cost here? Purpose and locks come
-- from its comment, "purpose Locks: what."; a test keeps that equal to the head of its source.
create or replace view queen.functions as
select
    n.nspname as schema_name,
    p.proname as function_name,
    pg_get_function_identity_arguments(p.oid) as arguments,
    split_part(d.description, ' Locks: ', 1) as purpose,
    rtrim(split_part(d.description, ' Locks: ', 2), '.') as locks,
    s.calls,
    case when s.calls > 0 then round((s.total_time / s.calls)::numeric, 3) end as mean_ms,
    case when s.calls > 0 then round((s.self_time / s.calls)::numeric, 3) end as self_mean_ms,
    p.prosecdef as runs_as_owner
from pg_proc p
join pg_namespace n on n.oid = p.pronamespace
left join pg_description d on d.objoid = p.oid and d.classoid = 'pg_proc'::regclass
left join pg_stat_user_functions s on s.funcid = p.oid
where n.nspname in ('queen', 'queen_store');

comment on view queen.functions is
    'Functions of the broker with purpose, locks and cost. Calls and times need "set track_functions = all" (or pl) on the sessions that call.';
comment on column queen.functions.schema_name is 'queen = public API, queen_store = the broker''s own.';
comment on column queen.functions.function_name is 'Name.';
comment on column queen.functions.arguments is 'Arguments.';
comment on column queen.functions.purpose is 'What it does.';
comment on column queen.functions.locks is 'What it locks, in order, and whether it waits.';
comment on column queen.functions.calls is 'Calls counted since the statistics were reset; null = not tracked or never called.';
comment on column queen.functions.mean_ms is 'Mean time of a call in ms, with what it calls.';
comment on column queen.functions.self_mean_ms is 'Mean time of a call in ms, without what it calls.';
comment on column queen.functions.runs_as_owner is 'Whether the caller needs nothing but the right to execute it.';
