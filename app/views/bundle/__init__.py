"""The view of bundle methods: cutting planes, their weights, and the bounds that they prove."""
