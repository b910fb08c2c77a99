"""`/docs`: the API's documentation, made of its OpenAPI document and of guides."""
