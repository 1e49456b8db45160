-- Who may do what. Named to run last and, through this time stamp, applied by every migration, for
-- a function made anew may be executed by everybody: ${flyway:timestamp}
--
-- queen_reader   views, and the API functions that only read
-- queen_writer   API functions that change something: push, pop, ack, transact; sees nothing else
--
-- Roles belong to the server: another database of it may be making them at this moment, and a
-- migration without CREATEROLE cannot. Then it goes on without them; an administrator creates both
-- (they need no attribute) and the next migration grants them their rights.
do $$
declare
    v_role text;
    v_function regprocedure;
begin
    revoke all on all functions in schema queen, queen_store from public;

    foreach v_role in array array['queen_reader', 'queen_writer'] loop
        if to_regrole(v_role) is null then
            begin
                execute format('create role %I nologin', v_role);
            exception
                when duplicate_object or unique_violation then
                    null;
                when insufficient_privilege then
                    raise notice 'role % is missing and may not be created here', v_role;
            end;
        end if;
        if to_regrole(v_role) is not null then
            execute format('grant usage on schema queen to %I', v_role);
            for v_function in
                select p.oid::regprocedure
                from pg_proc p
                where p.pronamespace = 'queen'::regnamespace and p.prosecdef
                  and (p.provolatile = 'v') = (v_role = 'queen_writer')
            loop
                execute format('grant execute on function %s to %I', v_function, v_role);
            end loop;
        end if;
    end loop;

    -- What a view calls runs with the rights of whoever looks, so a reader needs it too.
    if to_regrole('queen_reader') is not null then
        grant usage on schema queen_store to queen_reader;
        grant select on all tables in schema queen, queen_store to queen_reader;
        for v_function in
            select p.oid::regprocedure
            from pg_proc p
            where p.pronamespace = 'queen_store'::regnamespace and p.provolatile <> 'v'
        loop
            execute format('grant execute on function %s to queen_reader', v_function);
        end loop;
    end if;
end
$$;
