package io.queenmq.testkit;

import java.util.ArrayList;
import java.util.List;
import org.testcontainers.containers.PostgreSQLContainer;

/** The server of the tests in a container, with the profile testcontainers. */
public final class ContainerSource implements TestServer.Source {

    @Override
    @SuppressWarnings("resource") // Ends with this process: the library sees to that.
    public int start(String version, List<String> settings) {
        List<String> command = new ArrayList<>(List.of("postgres"));
        for (String setting : settings) {
            command.add("-c");
            command.add(setting);
        }
        PostgreSQLContainer<?> container =
                new PostgreSQLContainer<>("postgres:" + version)
                        .withUsername("queen")
                        .withDatabaseName("queen")
                        .withEnv("POSTGRES_HOST_AUTH_METHOD", "trust")
                        .withEnv("POSTGRES_INITDB_ARGS", "--encoding=UTF8 --locale=C")
                        .withCommand(command.toArray(String[]::new));
        container.start();
        return container.getMappedPort(PostgreSQLContainer.POSTGRESQL_PORT);
    }
}
