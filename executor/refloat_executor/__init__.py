"""The executor daemon: watches the pods of one cluster, names failures, clears pods away, reports."""
