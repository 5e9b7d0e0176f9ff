"""The mind of the gateway: who may start the agent and what may leave. Pure: values in, values out."""
