module bench

go 1.27
