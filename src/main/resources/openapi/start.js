// A token that is typed here stays in this page: it is gone when the page is left.
SwaggerUIBundle({
  url: "../openapi",
  dom_id: "#api",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null,
});
