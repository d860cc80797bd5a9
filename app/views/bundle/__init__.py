"""The view of bundle methods: cutting planes, their weights, their bounds."""
