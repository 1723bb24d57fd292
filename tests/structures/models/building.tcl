# A storey in space with a stiff floor; N, m, kg. $-variables with arrays, continued lines, conditions.
model basic -ndm 3 -ndf 6
set side(x) 5.0
set side(y) 4.0
set H 3.5
node 1 0 0 0
node 2 $side(x) 0 0
node 3 $side(x) $side(y) 0
node 4 0 $side(y) 0
for {set i 1} {$i <= 4} {incr i} {
    if {$i == 1 || $i == 4} { set x 0.0 } else { set x $side(x) }
    if {$i <= 2} { set y 0.0 } elseif {$i > 2} { set y $side(y) }
    node [expr 10 + $i] $x $y $H
}
node 100 [expr $side(x)/2] [expr $side(y)/2] $H -mass 2.0e4 2.0e4 0 0 0 8.0e4
fixZ 0.0 1 1 1 1 1 1
fix 100 0 0 1 1 1 0
set E 30.0e9
set G [expr $E/2.4]
geomTransf Linear 1 1 0 0
geomTransf Linear 2 0 0 1
geomTransf PDelta 3 0 0 1
for {set i 1} {$i <= 4} {incr i} {
    element elasticBeamColumn $i $i [expr $i + 10] 0.16 $E $G 3.6e-3 \
        2.13e-3 1.5e-3 1 -mass [expr 0.16*2500]
}
set next {12 13 14 11}
element elasticBeamColumn 11 11 12 0.18 $E $G 3.6e-3 2.1e-3 5.4e-3 2 -mass 450.0
element elasticBeamColumn 12 12 13 0.18 $E $G 3.6e-3 2.1e-3 5.4e-3 2 -mass 450.0
element elasticBeamColumn 13 13 14 0.18 $E $G 3.6e-3 2.1e-3 5.4e-3 2 -mass 450.0
element elasticBeamColumn 14 14 11 0.18 $E $G 3.6e-3 2.1e-3 5.4e-3 2 -mass 450.0
uniaxialMaterial Elastic 1 2.0e11
element truss 21 1 12 5.0e-4 1 -rho 4.0
rigidDiaphragm 3 100 11 12 13 14
rayleigh 0.1 0.0 0.0 0.001
pattern Plain 4 "Linear" {
    load 100 1.0e5 2.0e4 0 0 0 3.0e4
    eleLoad -ele 11 13 -type -beamUniform 0.0 -1.0e4 500.0
    eleLoad -ele 1 -type -beamUniform 300.0 700.0
}
