package io.queenmq.db;

import javax.sql.DataSource;
import org.flywaydb.core.Flyway;

/** Brings a database to the schema and functions this broker was built with. */
public final class Migrations {
    private Migrations() {}

    public static void apply(DataSource dataSource) {
        Flyway.configure(Migrations.class.getClassLoader())
                .dataSource(dataSource)
                .locations("classpath:sql/schema", "classpath:sql/functions", "classpath:sql/views")
                .schemas("queen_store", "queen")
                .defaultSchema("queen_store")
                .table("schema_history")
                .load()
                .migrate();
    }
}
