# A portal frame of two storeys with braces, a spring at its top and loads of both kinds; kN, m, t.
wipe
model BasicBuilder -ndm 2 -ndf 3
set h 3.0; set L 6.0
set E [expr 210.0e6]
set A [expr 0.3*0.3];   # a square of 30 cm
set I [expr pow(0.3, 4)/12.0]
set tag 0
for {set i 0} {$i <= 2} {incr i} {
    foreach x {0.0 1.0} {
        incr tag
        node $tag [expr {$x*$L}] [expr $i*$h]
    }
}
fix 1 1 1 1
fix 2 1 1 0
geomTransf Linear 1
geomTransf Linear 2
uniaxialMaterial Elastic 1 200.0e6
uniaxialMaterial Elastic 2 5.0e3 20.0
uniaxialMaterial Viscous 3 15.0 1.0
element elasticBeamColumn 1 1 3 $A $E $I 1 -mass 0.7
element elasticBeamColumn 2 2 4 $A $E $I 1 -mass 0.7
element elasticBeamColumn 3 3 5 $A $E $I 1
element elasticBeamColumn 4 4 6 $A $E $I 1
section Elastic 7 $E [expr 2*$A] [expr 3*$I]
element elasticBeamColumn 5 3 4 7 2 -mass 1.5 -cMass
element elasticBeamColumn 6 5 6 7 2 -mass 1.5 -releasez 2
element truss 7 1 4 4.0e-4 1 -rho 0.05
element truss 8 3 6 4.0e-4 1 -rho 0.05 -cMass 1 -doRayleigh 1
node 20 0.0 [expr 2*$h]
fix 20 1 1 1
element zeroLength 9 20 5 -mat 2 3 -dir 1 2
mass 5 10.0 10.0 0.5
mass 6 8.0 8.0 0.0
equalDOF 3 4 1
rayleigh 0.3 0.0 0.002 0.001
pattern Plain 1 Linear {
    load 5 25.0 0.0 -3.0
    eleLoad -ele 5 6 -type -beamUniform -12.0 1.5
    eleLoad -ele 2 -type -beamUniform 2.0
}
recorder Node -file top.out -time -node 6 -dof 1 disp
constraints Transformation
analysis Static
