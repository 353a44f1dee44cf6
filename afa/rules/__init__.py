"""Many rules in one operator: rules of one shape share code and state, and differ in constants (`afa.rules.shape`)."""
