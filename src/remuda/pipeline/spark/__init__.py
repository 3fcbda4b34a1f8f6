"""Jobs on Spark: the only place, beside the driver, that imports pyspark."""
